#!/usr/bin/env bash
# P5, P6: io_uring, whose calls no filter sees, cannot connect to anything.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"

cp "$TOOLS/attack_net" "$TOOLS/listen" .
log=$scratch/log
: > "$log"
"$TOOLS/listen" "$scratch/tcp" "$log" tcp &
one=$!
wait_until 10 test -s "$scratch/tcp"
port=$(cat "$scratch/tcp")
control=$("$TOOLS/attack_net" uring "$port")
case $control in
*'a ring'*)
    like 'control: outside it connects' "$control" '*GOT a connection*'
    check 'control: it was reached' wait_until 5 test -s "$log"
    ;;
*) skip 'control: outside it connects' 'this kernel has io_uring switched off' ;;
esac
sleep 0.1
: > "$log"
nacre run "./attack_net uring $port"
prints 'inside there is no ring' 'done'
nacre run './listen /tmp/r /tmp/l tcp & until [ -s /tmp/r ]; do sleep 0.05; done; ./attack_net uring "$(cat /tmp/r)"'
unlike 'not even for its own loopback' "$out" '*GOT*'
sleep 0.2
is 'and nobody was reached' "$(cat "$log")" ''
kill "$one"

done_testing

#!/usr/bin/env bash
# P4: a socket that a program of the host has in the workspace is no way to that program, whatever
# its kind is and however it was named.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"

mkdir ws
cp "$TOOLS/attack_net" ws/
log=$scratch/log
: > "$log"
pids=()
serve() { # KIND NAME
    (cd ws && exec "$TOOLS/attack_net" serve "$scratch/ready" "$log" "$1" "$2") 2> /dev/null &
    pids+=($!)
}
mkdir -p ws/sub
serve stream relative
serve stream "sub/deeper"
serve dgram dgram
serve seqpacket seqpacket
# A whole name is as long as a socket's name may be, or the test would not be one.
whole=$PWD/ws/whole
if [ ${#whole} -lt 100 ]; then serve stream "$whole"; else serve stream whole; fi
# shellcheck disable=SC2317 # called by wait_until
ready() { [ "$(wc -l < "$scratch/ready")" = 5 ]; }
touch "$scratch/ready"
check 'control: they listen' wait_until 10 ready
for name in relative sub/deeper whole; do
    like "control: outside $name answers" "$(cd ws && "$TOOLS/attack_net" send stream "$name")" 'GOT*'
done
like 'control: outside the others do' "$(cd ws && "$TOOLS/attack_net" send dgram dgram; "$TOOLS/attack_net" send seqpacket ws/seqpacket)" '*GOT*GOT*'
# shellcheck disable=SC2317 # called by wait_until
reached() { [ "$(wc -l < "$log")" -ge 5 ]; }
check 'control: they were reached' wait_until 5 reached
: > "$log"
nacre run -w ws "for n in relative sub/deeper whole $PWD/ws/relative ./sub/../relative /proc/self/cwd/relative; do ./attack_net send stream \$n; done; ./attack_net send dgram dgram; ./attack_net send seqpacket seqpacket; cd sub; ../attack_net send stream deeper; ln -s ../relative link; ../attack_net send stream link; ln ../relative hard; ../attack_net send stream hard; mv ../whole moved; ../attack_net send stream moved; cp -a ../dgram copied; ../attack_net send dgram copied; echo tried"
unlike 'inside none answers' "$out" '*GOT*'
like 'control: it tried' "$out" '*tried'
sleep 0.3
is 'and none was reached' "$(cat "$log")" ''
# Sockets of its own work, in the workspace and out of it.
nacre run -w ws './attack_net serve /tmp/ready /tmp/log stream own 2>/dev/null & until [ -s /tmp/ready ]; do sleep 0.05; done; ./attack_net send stream own; kill %1; rm -f own'
like 'control: one of its own does' "$out" '*GOT*'
# A path that is only listed has no layer, whatever the workspace is.
mkdir empty
for place in empty :memory:; do
    : > "$log"
    nacre run -w "$place" --read-path "$PWD/ws" "for n in relative sub/deeper whole; do $PWD/ws/attack_net send stream $PWD/ws/\$n; done; $PWD/ws/attack_net send dgram $PWD/ws/dgram; echo tried"
    unlike "in a listed path none answers (workspace $place)" "$out" '*GOT*'
    like "control: it tried ($place)" "$out" '*tried'
    is "none was reached ($place)" "$(cat "$log")" ''
done
kill "${pids[@]}"

done_testing

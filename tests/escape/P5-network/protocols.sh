#!/usr/bin/env bash
# P5: no protocol reaches what listens on the host: TCP with an early payload, MPTCP, SCTP,
# UDP-Lite, by addresses of either family.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"

cp "$TOOLS/attack_net" .
log=$scratch/log
: > "$log"
"$TOOLS/listen" "$scratch/tcp" "$log" tcp &
one=$!
"$TOOLS/listen" "$scratch/udp" "$log" udp &
two=$!
wait_until 10 test -s "$scratch/tcp" -a -s "$scratch/udp"
tcp=$(cat "$scratch/tcp") udp=$(cat "$scratch/udp")
like 'control: outside TCP answers, early and late' "$("$TOOLS/attack_net" tcp 127.0.0.1 "$tcp")" '*GOT tcp*'
"$TOOLS/attack_net" udp 127.0.0.1 "$udp" > /dev/null
# shellcheck disable=SC2317 # called by wait_until
reached() { [ "$(wc -l < "$log")" -ge 3 ]; }
check 'control: it was reached many times' wait_until 5 reached
sleep 0.2
: > "$log"
for address in 127.0.0.1 127.0.0.2 0.0.0.0 $(hostname -I 2> /dev/null | tr ' ' '\n' | grep -v :) 255.255.255.255 224.0.0.1; do
    nacre run "./attack_net tcp $address $tcp; ./attack_net udp $address $udp"
    unlike "$address: nothing answers" "$out" '*GOT*'
    like "$address: control: it was tried" "$out" $'*done\ndone'
done
sleep 0.3
is 'and nobody was reached' "$(cat "$log")" ''
kill "$one" "$two"

done_testing

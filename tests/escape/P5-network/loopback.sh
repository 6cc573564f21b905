#!/usr/bin/env bash
# P5: what listens on the host's loopback is out of reach; the inside's own loopback works.
# shellcheck disable=SC2016,SC2317 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"

cp "$TOOLS/attack" "$TOOLS/listen" .
log=$scratch/log
: > "$log"
"$TOOLS/listen" "$scratch/tcp" "$log" tcp &
one=$!
"$TOOLS/listen" "$scratch/udp" "$log" udp &
two=$!
wait_until 10 test -s "$scratch/tcp" -a -s "$scratch/udp"
tcp=$(cat "$scratch/tcp") udp=$(cat "$scratch/udp")
like 'control: outside it answers' "$("$TOOLS/attack" connect tcp "$tcp")" 'GOT*'
"$TOOLS/attack" connect udp "$udp" > /dev/null
reached() { [ "$(wc -l < "$log")" -ge 1 ]; }
check 'control: both were reached' wait_until 5 reached
wait_until 5 bash -c "[ \$(wc -l < '$log') -ge 2 ]"
is 'control: by two' "$(wc -l < "$log")" 2
: > "$log"
nacre run "./attack connect tcp $tcp; ./attack connect udp $udp; (echo x > /dev/tcp/127.0.0.1/$tcp) 2>/dev/null && echo GOT; (echo x > /dev/udp/127.0.0.1/$udp) 2>/dev/null; (echo x > /dev/tcp/localhost/$tcp) 2>/dev/null && echo GOT; echo end"
is 'inside it does not' "$(grep -c GOT <<< "$out")" 0
like 'control: it was tried' "$out" '*end'
for address in $(hostname -I 2> /dev/null) 10.0.2.2 169.254.169.254 172.17.0.1; do
    nacre run "timeout 2 bash -c 'echo x > /dev/tcp/$address/$tcp' 2>/dev/null && echo GOT; echo end"
    is "nor by $address" "$out" end
done
sleep 0.3
is 'and nobody was reached' "$(cat "$log")" ''
kill "$one" "$two"
nacre run './listen r l tcp & until [ -s r ]; do sleep 0.05; done; ./attack connect tcp "$(cat r)"; rm -f r l'
like 'its own loopback works' "$out" 'GOT tcp*'
# And the other way round: what listens inside is not on the host.
"$NACRE" run './listen r l tcp' > /dev/null 2>&1 &
pid=$!
wait_until 10 test -s r
is 'what listens inside is not reached from the host' "$("$TOOLS/attack" connect tcp "$(cat r)")" 'done'
kill "$pid"
wait "$pid"

done_testing

#!/usr/bin/env bash
# P4: unix sockets of the host, by path or abstract, are out of reach.
# shellcheck disable=SC2016,SC2317 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"

cp "$TOOLS/attack" .
mkdir out ws
cp attack ws/
name=nacre-test-$(unique)
log=$scratch/log
: > "$log"
"$TOOLS/listen" "$scratch/ready1" "$log" abstract "$name" &
one=$!
path=$(mktemp -u /tmp/nacre-test-sock.XXXXXX)
"$TOOLS/listen" "$scratch/ready2" "$log" unix "$path" &
two=$!
"$TOOLS/listen" "$scratch/ready3" "$log" unix "$PWD/out/socket" &
three=$!
wait_until 10 test -s "$scratch/ready1" -a -s "$scratch/ready2" -a -s "$scratch/ready3"
like 'control: outside the abstract one answers' "$("$TOOLS/attack" connect abstract "$name")" 'GOT*'
like 'control: outside the one with a path answers' "$("$TOOLS/attack" connect unix "$path")" 'GOT*'
seen() { [ "$(wc -l < "$log")" -ge "$1" ]; }
check 'control: it was seen' wait_until 5 seen 2
: > "$log"
nacre run -w ws "./attack connect abstract $name; ./attack connect unix $path; ./attack connect unix $PWD/out/socket; ./attack connect unix ../out/socket; cat /proc/net/unix"
is 'inside none does' "$(grep -c GOT <<< "$out")" 0
is 'control: all were tried' "$(grep -c '^done' <<< "$out")" 4
unlike 'nor are they listed' "$out" "*$name*"
nacre run -w ws "for s in /run/docker.sock /var/run/docker.sock /run/dbus/system_bus_socket /run/systemd/private /run/user /tmp/.X11-unix /run/containerd /run/podman; do [ -e \$s ] && echo \"GOT \$s\"; done; find / -xdev -type s 2>/dev/null; echo done"
is 'no socket of the host is seen' "$out" 'done'
sleep 0.3
is 'and nobody was reached' "$(cat "$log")" ''
kill "$one" "$two" "$three"
rm -f "$path"

done_testing

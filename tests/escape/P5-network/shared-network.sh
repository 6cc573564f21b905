#!/usr/bin/env bash
# P4, P5: with the host's network shared, as the policy can ask for, abstract sockets, other
# families and the host's settings stay out of reach.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"

cp "$TOOLS/attack" "$TOOLS/attack_net" .
name=nacre-test-$(unique)
log=$scratch/log
: > "$log"
"$TOOLS/listen" "$scratch/ready1" "$log" abstract "$name" &
one=$!
: > "$scratch/log-tcp"
"$TOOLS/listen" "$scratch/tcp" "$scratch/log-tcp" tcp &
two=$!
wait_until 10 test -s "$scratch/ready1" -a -s "$scratch/tcp"
port=$(cat "$scratch/tcp")
like 'control: outside the abstract one answers' "$("$TOOLS/attack" connect abstract "$name")" 'GOT*'
wait_until 5 test -s "$log"
: > "$log"
nacre run --network on "./attack connect tcp $port"
like 'control: the network is shared' "$out" 'GOT tcp*'
nacre run --network on "./attack connect abstract $name; ./attack_net raw; ./attack_net netlink; ./attack_net odd"
is 'no abstract socket, raw socket, message socket or odd family' "$out" $'done\ndone\ndone\ndone'
before=$(cut -d: -f1 /proc/net/dev; cat /proc/net/route)
nacre run --network on 'ip link add harm0 type dummy; ip addr add 10.9.9.9/8 dev lo; ip link set lo down; ip route add 10.0.0.0/8 dev lo; echo 1 > /proc/sys/net/ipv4/ip_forward; hostname harm; iptables -P INPUT DROP; true' 2> /dev/null
is "and nothing of the host's network is changed" "$(cut -d: -f1 /proc/net/dev; cat /proc/net/route)" "$before"
sleep 0.2
is 'nobody was reached by a name' "$(cat "$log")" ''
kill "$one" "$two"

done_testing

#!/usr/bin/env bash
# P5, P6: no raw socket, no packet socket, no ICMP: nothing that writes its own headers or listens
# to others.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"

cp "$TOOLS/attack_net" .
if [ "$(id -u)" = 0 ]; then like 'control: root of the host has them' "$("$TOOLS/attack_net" raw)" '*GOT*'; fi
nacre run './attack_net raw; unshare -Urn ./attack_net raw 2>/dev/null; true'
unlike 'inside there is none' "$out" '*GOT family*'
like 'control: it was tried' "$out" 'done*'
nacre run 'command -v ping > /dev/null && timeout 2 ping -c 1 -W 1 127.0.0.1 > /dev/null 2>&1 && echo GOT; command -v tcpdump > /dev/null && timeout 2 tcpdump -c 1 2>/dev/null && echo GOT; cat /proc/net/packet | tail -n +2; cat /proc/net/raw /proc/net/icmp | grep -v sl; echo done'
prints 'nor by the programs' 'done'

done_testing

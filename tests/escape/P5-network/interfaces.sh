#!/usr/bin/env bash
# P5: no interface but lo, no route, no names, no families that ignore network namespaces.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"

cp "$TOOLS/attack" .
nacre run './attack interfaces'
prints 'lo is the only interface' $'interface lo\ndone'
nacre run 'cat /proc/net/dev | tail -n +3 | wc -l; tail -n +2 /proc/net/route | wc -l; cat /proc/net/arp | tail -n +2 | wc -l'
is 'no route, no neighbour' "$out" $'1\n0\n0'
nacre run 'cat /proc/net/tcp | tail -n +2 | wc -l; ls /sys/class/net 2>/dev/null'
is 'connections of the host are not listed' "$out" 0
nacre run 'getent hosts example.com; timeout 3 bash -c "echo > /dev/tcp/1.1.1.1/53" 2>&1; true'
like 'there is no way to anywhere' "$out" '*unreachable*'
nacre run 'ip link add x type dummy 2>/dev/null && echo GOT; ip addr add 10.9.9.9/8 dev lo 2>/dev/null && echo GOT; ip link set lo down 2>/dev/null && echo GOT; echo done'
prints 'its network cannot be changed' 'done'
# vsock, for one, ignores network namespaces: a way to the hypervisor or to another machine.
nacre run './attack families'
prints 'no family but local, IP and netlink, and no raw socket' 'done'

done_testing

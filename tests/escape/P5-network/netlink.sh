#!/usr/bin/env bash
# P5, P6: of the kernel's message sockets only that for routes can be made; it tells of the inside
# alone and changes nothing.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"

cp "$TOOLS/attack_net" .
like 'control: outside there are others' "$("$TOOLS/attack_net" netlink)" '*GOT netlink*'
nacre run './attack_net netlink'
prints 'inside there are not' 'done'
cat > route.py << 'P'
import socket, struct
def ask(kind, flags, body):
    s = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
    s.settimeout(2)
    s.sendto(struct.pack("IHHII", 16 + len(body), kind, flags, 1, 0) + body, (0, 0))
    return s.recv(65536)
def failed(answer):
    length, kind = struct.unpack_from("IH", answer)
    return kind == 2 and struct.unpack_from("i", answer, 16)[0] != 0
# links, addresses, routes, rules, neighbours: told of nothing but lo
text = ask(18, 0x301, struct.pack("BxHiII", 0, 0, 0, 0, 0))
print("links", len([1 for i in range(len(text)) if text[i:i + 3] == b"lo\0"]))
# an address for lo, a route to everywhere, a new link, lo down
changes = [(20, struct.pack("BBBBi", 2, 8, 0, 0, 1) + struct.pack("HH4s", 8, 2, bytes([10, 9, 9, 9]))),
           (24, struct.pack("BBBBBBBBI", 2, 0, 0, 0, 254, 3, 0, 1, 0) + struct.pack("HHi", 8, 4, 1)),
           (16, struct.pack("BxHiII", 0, 0, 0, 0, 0) + struct.pack("HH8s", 12, 3, b"harm0\0\0\0")),
           (16, struct.pack("BxHiII", 0, 0, 1, 0, 1))]
for kind, body in changes:
    if not failed(ask(kind, 0x605, body)):
        print("GOT a change", kind)
print("done")
P
nacre run 'python3 route.py'
is 'the one for routes tells of lo, and changes nothing' "$out" $'links 1\ndone'
# Group 1 of the device events is what udev listens to on the host.
nacre run 'udevadm monitor --kernel 2>/dev/null & sleep 0.2; kill %1 2>/dev/null; ss -ntu 2>/dev/null | tail -n +2 | wc -l'
is "the host's connections are not told" "$(tail -1 <<< "$out")" 0

done_testing

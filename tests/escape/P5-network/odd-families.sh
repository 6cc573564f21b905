#!/usr/bin/env bash
# P5: families that do not know network namespaces, or are little used code of the kernel, cannot be
# made: vsock, AF_ALG, packet, Bluetooth, TIPC and all the others.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"

cp "$TOOLS/attack_net" .
like 'control: outside some can' "$("$TOOLS/attack_net" odd)" '*GOT*'
nacre run './attack_net odd'
prints 'inside none can' 'done'
nacre run 'cat /proc/net/protocols 2>/dev/null | cut -d" " -f1 | grep -i -E "^(vsock|alg|bt|l2cap)"; ls /dev/vsock /dev/vhost-vsock 2>/dev/null; echo done'
unlike 'no device of theirs is there' "$out" '*/dev/*'
like 'control: it looked' "$out" '*done'

done_testing

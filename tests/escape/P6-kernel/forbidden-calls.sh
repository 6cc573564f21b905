#!/usr/bin/env bash
# P6: calls that ordinary programs do not need, and break-ins do, are not in reach: not by their
# numbers, not with bits set that the kernel does not look at.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"

cp "$TOOLS/attack_kernel" .
like 'control: outside many are' "$("$TOOLS/attack_kernel" calls plain)" '*GOT*GOT*GOT*GOT*GOT*'
nacre run './attack_kernel calls plain'
prints 'by their numbers' 'done'
nacre run './attack_kernel calls high'
prints 'with high bits' 'done'
nacre run './attack_kernel calls x32'
prints 'by the numbers of x32' 'done'
nacre run '(./attack_kernel calls plain; exec ./attack_kernel calls plain) | grep -c GOT; setsid -w ./attack_kernel calls plain; (: ; bash -c "./attack_kernel calls plain") & wait'
unlike 'nor in a child, a session, or behind another program' "${out#0}" '*GOT*'

done_testing

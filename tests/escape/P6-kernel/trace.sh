#!/usr/bin/env bash
# P6: a process inside does not trace, read or write the memory of another that it did not start.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"

cp "$TOOLS/attack_kernel" .
if [ "$(cat /proc/sys/kernel/yama/ptrace_scope 2> /dev/null || echo 0)" = 0 ]; then
    like 'control: outside it does' "$("$TOOLS/attack_kernel" trace)" '*GOT*'
fi
nacre run './attack_kernel trace'
prints 'inside it does not' 'done'
nacre run 'sleep 5 & gdb -p $! -batch -ex "call (int)getpid()" 2>/dev/null | grep -c "\\$1 ="; timeout 1 strace -p $! 2>&1 | grep -c attached; kill %1'
is 'nor by the programs' "$(tr '\n' ' ' <<< "$out")" '0 0 '

done_testing

#!/usr/bin/env bash
# P6: the calls that the filter closes are closed, in every way they can be made.

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"

cp "$TOOLS/calls" .
nacre run ./calls
prints 'io_uring, keyrings, x32, socket families, the limit on core files' 'done'
like 'control: outside most of it works' "$(./calls)" '*GOT*core files*'
nacre run './calls abi; echo "status $?"'
like 'a call of a foreign ABI ends the program' "$out" 'status 159'
unlike 'and gets nothing' "$out" '*GOT*'
nacre run 'ulimit -c 0 && bash -c "kill -SEGV \$\$"; ls | grep -c core'
is 'a crash leaves nothing' "$(tail -1 <<< "$out")" 0
nacre run 'prlimit --core --output SOFT,HARD --noheadings | tr -s " "'
is 'the limit can be read' "${out# }" '1 1'

done_testing

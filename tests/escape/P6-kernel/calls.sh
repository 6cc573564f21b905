#!/usr/bin/env bash
# P6: the calls that the filter closes are closed, in every way they can be made.

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"

cp "$TOOLS/calls" .
nacre run ./calls
prints 'io_uring, keyrings, x32, socket families, the limit on core files' 'done'
like 'control: outside most of it works' "$(./calls)" '*GOT*'
nacre run './calls abi; echo "status $?"'
like 'a call of a foreign ABI ends the program' "$out" 'status 159'
unlike 'and gets nothing' "$out" '*GOT*'
nacre run 'ulimit -c 0 && bash -c "kill -SEGV \$\$"; ls | grep -c core'
is 'a crash leaves nothing' "$(tail -1 <<< "$out")" 0
nacre run 'prlimit --core --output SOFT,HARD --noheadings | tr -s " "'
# A hard limit of 0, which sudo sets, cannot be lifted to the 1 that the plan asks for.
limit=1
if [ "$(ulimit -Hc)" = 0 ]; then limit=0; fi
is 'the limit can be read' "${out# }" "$limit $limit"
(ulimit -c 0 && "$NACRE" run 'echo works') > "$scratch/out" 2>&1
is 'a caller without core files runs all the same' "$(cat "$scratch/out")" works

done_testing

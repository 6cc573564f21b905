#!/usr/bin/env bash
# X1: threads that swap the path, the words or the link while another one executes: what is judged is
# what was mapped.

# shellcheck source=tests/escape/exec/lib.bash
. "$(dirname "$0")/lib.bash"

rm -f mark
judged './attack_exec race /usr/bin/touch mark'
is 'it came to its end' "$(jq -r .stdout <<< "$result")" 'done'
refute 'in no round did it run' test -e mark
like 'and it was tried' "$(warnings)" '*was stopped before it began*deny: touch*'

done_testing

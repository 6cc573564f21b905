#!/usr/bin/env bash
# L8, X1: every call and every kind of process that starts a program: none starts a denied one.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/escape/exec/lib.bash
. "$(dirname "$0")/lib.bash"

for way in plain other descriptor proc threads orphan vfork spawn clone clone-parent; do
    stopped "$way" "./attack_exec $way /usr/bin/touch mark" '*"mark"]*'
    runs "$way, something else" "./attack_exec $way /bin/true mark"
    if [ "$way" != clone-parent ]; then
        is "$way: that ran" "$(jq -r .stdout <<< "$result")" 'exit 0'
    fi
done

# These have no way inside at all: in landlock strength there may be one for files in memory.
for way in clone3 clone-untraced memory; do
    rm -f mark
    judged "./attack_exec $way /usr/bin/touch mark"
    refute "$way: it does not run" test -e mark
done

# Its parent sees what a shell sees.
printf 'touch mark\necho "status $?"\n' > s.sh
judged 'bash s.sh'
is 'its parent sees 137' "$(jq -r .stdout <<< "$result")" 'status 137'
is 'and goes on' "$(jq -r .status <<< "$result")" ok
like 'the list has how each ended' "$(jq -c '.executed' <<< "$result")" \
    '*{"argv":\["touch","mark"\],"exit_code":137}*'
like 'the warning says where the rule stands' "$(warnings)" "*deny: touch*shell.deny in $scratch/policy.yaml:3*"

done_testing

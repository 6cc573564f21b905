#!/usr/bin/env bash
# L8, X1: a rule on a command of the system by its path holds however that is called, as text and when it starts.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/escape/exec/lib.bash
. "$(dirname "$0")/lib.bash"

printf 'extends: full-auto\nshell:\n  deny: [/usr/bin/touch]\n  confirm: [/bin/mkdir]\n' > "$scratch/policy.yaml"
cp /usr/bin/touch copy
for text in 'touch mark' '/usr/bin/touch mark' '/bin/touch mark' 'env touch mark' 'cd /usr/bin && ./touch mark'; do
    judged "$text"
    is "$text: denied" "$(jq -r .verdict.decision <<< "$result")" deny
    stopped "$text" "$text" '*"mark"]*'
done
stopped 'a copy' './copy mark' '*"./copy","mark"*'
is 'the same to confirm' "$("$JUDGE" test --config "$scratch/policy.yaml" --json 'mkdir mark' | jq -r .decision)" confirm
stopped 'below what runs' 'mkdir mark; touch mark' '*"mkdir","mark"*'
done_testing

#!/usr/bin/env bash
# X2: what is called like a wrapper or a shell is let by for what it runs, and only if it is the one that PATH finds. A shell
# that is given a text below what is allowed is held to the list by what the text says.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/escape/exec/lib.bash
. "$(dirname "$0")/lib.bash"

printf 'extends: full-auto\n' > "$scratch/policy.yaml"
echo mine > own

# A program that leaves a mark, under the names of those that run others.
for name in env nice timeout nohup setsid stdbuf xargs flock time command bash sh dash; do
    cp /usr/bin/touch "$name"
    rm -f mark echo
    case $name in
    timeout) text="./timeout 1 echo mark" ;;
    flock) text='./flock mark echo mark' ;;
    bash | sh | dash) text="./$name -c 'echo mark'" ;;
    *) text="./$name echo mark" ;;
    esac
    judged --allow echo "$text"
    is "$text: no mandate covers it" "$(jq -r .status <<< "$result")" denied
    refute "$text: it does not run" test -e echo -o -e mark
    is "$text: nor does any policy that asks about unknown programs let it by" \
        "$("$JUDGE" test --json "$text" | jq -r .decision)" confirm
done

# The same below a program of the list, where only the verdict at exec sees it.
for text in './env echo mark' 'env ./nice echo mark' 'nice ./sh -c "echo mark"' "$PWD/env echo mark"; do
    printf '#!/bin/sh\n%s\n' "$text" > go.sh
    chmod +x go.sh
    rm -f mark echo
    judged --allow ./go.sh --allow echo './go.sh'
    refute "$text, in a script: it does not run" test -e echo -o -e mark
    like "$text, in a script: it was stopped" "$(warnings)" '*was stopped before it began: mandate*'
done

below() { # RECIPE
    printf 'all:\n\t@%s\n' "$1" > Makefile
    rm -f mark
    judged --allow make --allow 'cat own' make
}
for text in ': > mark' 'cat own; cd .; : > mark' 'cat own; eval ": > mark"' 'sh -c ": > mark"' 'nice env sh -c ": > mark"'; do
    below "$text"
    refute "make, $text: it does not run" test -e mark
    like "make, $text: the shell was stopped" "$(warnings)" '*sh*was stopped before it began: mandate*'
done
below 'cat own; nice sh -c "env cat own" | cat own'
is 'a text of what is listed runs' "$(jq -r .stdout <<< "$result")" $'mine\nmine'
judged --allow 'cat own' "sh -c 'cat own; env cat own'"
is 'also as the text itself' "$(jq -r .stdout <<< "$result")" $'mine\nmine'

done_testing

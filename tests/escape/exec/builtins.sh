#!/usr/bin/env bash
# X1: a text that names nothing but builtins of the shell may start programs all the same: what they are judged by is
# looked for when the first one comes.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/escape/exec/lib.bash
. "$(dirname "$0")/lib.bash"

cp /usr/bin/touch copy
printf './copy mark\n' > by-name
printf '/usr/bin/touch mark\n' > by-path
printf 'bash -c "exec ./copy mark"\n' > below
for file in by-name by-path below; do
    for text in ". ./$file" "source ./$file" "while . ./$file; do break; done" "! . ./$file" "eval '. ./$file'" \
        "f() { . ./$file; }; f" "(. ./$file)" "echo begun; { . ./$file; } | read -r x" "read -r x < <(. ./$file)"; do
        rm -f mark
        judged "$text"
        if [ -e mark ]; then not_ok "$text" "${result:0:1000}"; else ok "$text"; fi
        like "$text: told" "$(warnings)" '*was stopped before it began*touch*'
    done
done
# The same texts with what nobody denies: the way itself works, and all of it is put down.
printf '/bin/echo mine > mark\n' > allowed
rm -f mark
judged '. ./allowed'
is 'another program runs' "$(cat mark)" mine
like 'and is put down' "$(executed)" '*"/bin/echo","mine"*'
judged 'echo hi; printf %s there'
is 'builtins alone' "$(jq -r .stdout <<< "$result")" $'hi\nthere'

done_testing

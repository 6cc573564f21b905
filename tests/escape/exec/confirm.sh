#!/usr/bin/env bash
# X1: what must be confirmed does not run below something else, unless a person has confirmed the text by
# the same rule.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/escape/exec/lib.bash
. "$(dirname "$0")/lib.bash"

printf 'extends: full-auto\nshell:\n  confirm: [touch]\n' > "$scratch/policy.yaml"
printf 'touch mark\n' > s
rm -f mark
judged 'bash s'
refute 'below a shell it does not run' test -e mark
like 'and the warning says which rule' "$(warnings)" \
    "*'*touch' was stopped before it began: confirm: touch (shell.confirm in $scratch/policy.yaml:3*"
judged 'touch mark'
is 'as text it is asked for' "$(jq -r .status <<< "$result")" needs_confirmation
refute 'and does not run' test -e mark

# A terminal, and somebody there who says yes.
if command -v script > /dev/null; then
    echo yes | script -qec "\"$JUDGE\" run --config '$scratch/policy.yaml' 'touch mark; bash s'" /dev/null > "$scratch/tty" 2>&1
    if grep -q 'Type yes' "$scratch/tty"; then
        check 'after a yes it runs, also below the shell' test -e mark
        refute 'and nothing is said of it' grep -q 'was stopped' "$scratch/tty"
    else
        skip 'after a yes it runs' 'nobody was asked'
    fi
fi

done_testing

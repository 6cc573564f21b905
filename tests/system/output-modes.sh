#!/usr/bin/env bash
# One output for both streams, in their order; and the line of an output that ends a task.
# shellcheck disable=SC2016 # texts for the inside are in single quotes
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

get() { jq -r "$1" "$scratch/out"; }
printf 'output: {mode: combined}\n' > "$scratch/combined"
printf 'output: {submit: true}\n' > "$scratch/submit"

# --- combined ---------------------------------------------------------------------------------------------------------

both='for i in 1 2 3; do echo out $i; echo err $i >&2; done; exit 3'
nacre run --json --config "$scratch/combined" "$both"
is 'both streams in their order' "$(get .stdout)" $'out 1\nerr 1\nout 2\nerr 2\nout 3\nerr 3'
is 'standard error is empty' "$(get '[.stderr, .stderr_bytes, .exit_code] | map(tostring) | join(",")')" ,0,3
nacre run --json "$both"
is 'without it they are two' "$(get .stderr)" $'err 1\nerr 2\nerr 3'
nacre run --json --config "$scratch/combined" 'ls /nowhere-at-all'
like 'a plain command, which has no shell' "$(get .stdout)" '*/nowhere-at-all*'
nacre run --json --config "$scratch/combined" --keep head --limit output=64 'yes | head -c 100000; echo end >&2'
is 'it is truncated as one' "$(get '[.stdout_truncated, .stderr_truncated] | map(tostring) | join(",")')" true,false
nacre plan --config "$scratch/combined" 'ls'
like 'the plan says so' "$out" '*fd*"stdout too" number=2*'

# --- SUBMIT -----------------------------------------------------------------------------------------------------------

answer() { # NAME TEXT WANTED
    nacre run --json --config "$scratch/submit" "$2"
    is "$1" "$(get '.answer // "none"')" "$3"
}
answer 'a line is the answer' 'echo working; echo SUBMIT: 42' 42
answer 'the first one counts' 'echo SUBMIT: 1; echo SUBMIT: 2' 1
answer 'in any case, with blanks around it' 'echo "   submit:    the answer   "' 'the answer'
answer 'after expansion' 'x=7; echo "SUBMIT: $((x * 6))"' 42
answer 'nothing is no answer' 'echo "SUBMIT:   "' none
answer 'nor is another line' 'echo "I SUBMIT: 1"; echo SUBMITTED: 2' none
answer 'nor standard error' 'echo SUBMIT: 1 >&2' none
nacre run --json --config "$scratch/submit" --timeout 1s 'echo SUBMIT: 1; sleep 30' 2> /dev/null
is 'nor of one that was ended' "$(get '.answer // "none"')" none
answer 'of a command that fails, too' 'echo SUBMIT: 1; exit 5' 1
nacre run --json 'echo SUBMIT: 1'
is 'nothing is looked for unless the policy says so' "$(get '.answer // "none"')" none
printf 'output: {mode: combined, submit: true}\nredact: all\n' > "$scratch/redact"
nacre run --json --config "$scratch/redact" 'echo "SUBMIT: AKIA""Z7QWERTYUIOPLKJ2" >&2'
like 'it is redacted like the output' "$(get .answer)" '*REDACTED*'
mkdir .nacre
cp "$scratch/submit" .nacre/config.yaml
nacre run true
like 'a project cannot turn it on' "$err" '*output.submit: a project*only tighten*'
rm -r .nacre

# --- the length of a command ------------------------------------------------------------------------------------------

printf 'shell: {max_command_length: 10}\n' > "$scratch/short"
"$JUDGE" test --config "$scratch/short" '  echo ééééé  ' > "$scratch/out"
is 'characters are counted, without blanks around' "$?" 0
"$JUDGE" test --config "$scratch/short" 'echo éééééé' > "$scratch/out"
is 'and no more of them' "$?" 1

# --- the directory ----------------------------------------------------------------------------------------------------

mkdir inside
ln -s /etc out
ln -s inside in
nacre run --cwd out pwd
exits 'a link that leads out is no directory of the workspace' 125
nacre run --cwd .. pwd
exits 'nor is the one above' 125
nacre run --cwd in pwd
is 'a link that stays inside is' "$(basename "$out")" inside

done_testing

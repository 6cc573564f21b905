#!/usr/bin/env bash
# nacre reads every shell script that packages put on this machine, and every text of the tables, as
# bash does; and bash reads the canonical form as it reads the script.

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=tests/oracle/lib.sh
. "$(dirname "$0")/../oracle/lib.sh"

# --- the comparison can fail ------------------------------------------------------------------

frames() { # TEXT…
    local LC_ALL=C text
    for text in "$@"; do printf '%d\n%s' "${#text}" "$text"; done
}
frames 'echo a' > "$scratch/one"
frames 'echo b' | ask > "$scratch/other"
ask < "$scratch/one" > "$scratch/same"
printf 'error 3\nno!\n' > "$scratch/refused"
check 'the same tree is the same' "$oracle/compare" "$scratch/one" "$scratch/same"
refute 'another tree is noticed' "$oracle/compare" "$scratch/one" "$scratch/other"
refute 'a text that bash refuses is noticed' "$oracle/compare" "$scratch/one" "$scratch/refused"
check 'the same tree of a rendering is the same' "$oracle/compare" --trees "$scratch/same" "$scratch/same" "$scratch/one"
refute 'another tree of a rendering is noticed' "$oracle/compare" --trees "$scratch/same" "$scratch/other" "$scratch/one"
refute 'a rendering that bash refuses is noticed' "$oracle/compare" --trees "$scratch/same" "$scratch/refused" "$scratch/one"
frames $'\x1e echo a\n' > "$scratch/trace"
check 'a command that is in the text may run' "$oracle/compare" --ran "$scratch/one" "$scratch/trace"
frames $'\x1e\x1e \'rm\' a\n' > "$scratch/trace"
refute 'another one is noticed' "$oracle/compare" --ran "$scratch/one" "$scratch/trace"
printf 'REFUSED at 1:2: for no reason\n  text 1: x\n1 texts:\n' > "$scratch/made-up.report"
is 'a refusal without a row is noticed' "$(unlisted made-up)" 'generated: for no reason'

# --- the machine's scripts, the tables --------------------------------------------------------

"$STAGE/tests/oracle/scripts" "$scratch/paths" "$scratch/scripts" 2> "$scratch/err"
if [ "$(wc -l < "$scratch/paths")" -ge 50 ]; then ok "the machine has scripts ($(wc -l < "$scratch/paths"))"; else
    not_ok 'the machine has scripts' "$(cat "$scratch/err")"
fi
read_both scripts &
if [ ${#tables[@]} -gt 0 ]; then
    "$STAGE/tests/oracle/cases" "$scratch/tables" "$scratch/cases" "${tables[@]}"
    read_both cases
fi
wait
check_both scripts 'scripts of this machine' "$scratch/paths"
refusals=$(count scripts 'refused by nacre alone')
if [ "${refusals:-1000}" -le $(($(wc -l < "$scratch/paths") / 100 + 1)) ]; then
    ok "at most one in a hundred is refused ($refusals)"
else
    not_ok 'at most one in a hundred is refused' "$(tail -n 1 "$scratch/scripts.report")"
fi
if [ ${#tables[@]} -gt 0 ]; then check_both cases 'texts of the tables' "$scratch/tables"; fi

done_testing

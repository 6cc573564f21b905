#!/usr/bin/env bash
# P10: what is shown in a question is what runs: nothing in it hides, moves or changes what a person sees.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"
NACRE=$JUDGE
export XDG_CONFIG_HOME=$scratch/config
mkdir ws

shown() { # TEXT: what pending, approve and deny show of it
    printf '%s' "$1" | "$NACRE" run -w ws - > "$scratch/run" 2>&1
    id=$("$NACRE" pending --json | jq -r '.[-1].id')
    LC_ALL=${locale:-C.UTF-8} "$NACRE" pending > "$scratch/list" 2>&1
    LC_ALL=${locale:-C.UTF-8} "$NACRE" pending "$id" > "$scratch/shown" 2>&1
    LC_ALL=${locale:-C.UTF-8} "$NACRE" approve --yes "$id" > "$scratch/approved" 2>&1
    "$NACRE" pending --json "$id" > "$scratch/json" 2>&1
    cat "$scratch/list" "$scratch/shown" "$scratch/approved" "$scratch/run" > "$scratch/all"
}
plain() { # NAME: only what a terminal shows as it is
    if LC_ALL=C grep -qP '[\x00-\x08\x0b-\x1f\x7f]' "$scratch/all"; then not_ok "$1: no control" "$(cat -v "$scratch/all")"; else ok "$1: no control"; fi
    if LC_ALL=C.UTF-8 grep -qP '[\x{80}-\x{9f}\x{ad}\x{200b}-\x{200f}\x{2028}-\x{202e}\x{2060}-\x{206f}\x{feff}\x{e0000}-\x{e007f}\x{a0}\x{2000}-\x{200a}\x{3000}]' "$scratch/all"; then
        not_ok "$1: nothing that cannot be seen" "$(cat -v "$scratch/all")"
    else ok "$1: nothing that cannot be seen"; fi
    like "$1: what runs is shown" "$(cat "$scratch/shown")" '*evil*'
}
odd() { like "$1: and that it is odd is said" "$(cat "$scratch/shown")" '*! * in it cannot be seen, or would move or hide*'; }

while IFS='|' read -r name text; do
    shown "$(printf '%b' "$text")"
    # Some of these are refused before anybody is asked.
    if grep -q 'refused: ' "$scratch/run"; then cp "$scratch/run" "$scratch/shown"; refused=1; else refused=; fi
    plain "$name"
    [ -n "$refused" ] || odd "$name"
done << 'T'
right to left|echo safe \u202e; python3 evil \u202d
isolates|python3 evil \u2066x\u2069
zero width|py\u200bthon3 evil; python3 evil
zero width joiner|python3 ev\u200dil evil
soft hyphen|python3 ev\u00adil evil
tags|python3 evil \U000e0041\U000e0042
byte order mark|\ufeffpython3 evil
line separator|echo a \u2028; python3 evil
carriage return|python3 evil #\recho safe
backspace|python3 evil \b\b\b\b\b
escape sequences|python3 evil '\033[2K\033[1A\033[8m' \033]0;title\007
C1|python3 evil '\u009b2J'
delete|python3 evil '\x7f'
no UTF-8|python3 evil '\xff\xfe'
wide blanks|python3 evil 'a\u3000\u2003\u00a0b'
variation selectors|python3 evil '\ufe00\U000e0100'
T

shown "python3 evil$(printf ' %.0s' {1..600}); rm -rf gone"
like 'padding is told by its number' "$(cat "$scratch/shown")" '*1 | python3 evil<600 blanks>; rm -rf gone*'
like 'and said' "$(cat "$scratch/shown")" '*! up to 600 blanks in a row*'
is 'no line is longer than a person sees' "$(awk 'length > 130' "$scratch/shown" | wc -l)" 0
shown "python3 evil '$(printf ' %.0s' {1..600})x'"
like 'in a word, too' "$(cat "$scratch/shown")" "*? python3 evil '<600 blanks>x'*"
shown "python3 evil$(printf '\t%.0s' {1..600}) x"
like 'tabs as well' "$(cat "$scratch/shown")" '*<601 blanks>x*'
printf -v lines '\n%.0s' {1..600}
shown "echo safe${lines}python3 evil"
like 'empty lines, too' "$(cat "$scratch/shown")" '*<59? empty lines>*| python3 evil*'
shown "python3 evil $(printf 'a%.0s' {1..5000})"
is 'a long line is broken' "$(awk 'length > 5100' "$scratch/shown" | wc -l)" 0
like 'and whole' "$(sed -n '/^text/,$p' "$scratch/shown" | tr -cd a | wc -c)" '5[0-9][0-9][0-9]'
shown 'python3 еvil evil' # a Cyrillic letter
like 'letters that look alike are said' "$(cat "$scratch/shown")" '*1 character in it is not ASCII, and may look like others*'
locale=C shown 'python3 evil ü'
if LC_ALL=C grep -q '[^ -~[:space:]]' "$scratch/shown"; then not_ok 'a terminal without UTF-8 gets none' "$(cat -v "$scratch/shown")"; else ok 'a terminal without UTF-8 gets none'; fi

# Ten thousand lines, one of which is another.
{
    yes 'echo all is well' | head -5000
    echo 'python3 evil'
    yes 'echo all is well' | head -4999
} > "$scratch/long"
"$NACRE" run -w ws - < "$scratch/long" > "$scratch/run" 2>&1
id=$("$NACRE" pending --json | jq -r '.[-1].id')
"$NACRE" pending "$id" > "$scratch/shown"
like 'ten thousand lines are counted' "$(cat "$scratch/shown")" '*text       10000 lines*'
like 'so are the commands' "$(grep -m1 ^commands "$scratch/shown")" 'commands   10000, of which 1 asks'
is 'the one that asks comes first' "$(grep -A1 ^commands "$scratch/shown" | tail -1 | cut -c1-18)" '  ? python3 evil  '
like 'those that are alike are told by their number' "$(cat "$scratch/shown")" '*9999 times: echo *all is well*'
is 'and it is in its place' "$(grep -c '5001 | python3 evil$' "$scratch/shown")" 1
is 'the reason comes before the text' "$(head -20 "$scratch/shown" | grep -c "'python3' is not on the list")" 1

# What is approved is what was shown: the canonical text.
shown 'python3   -c   "print(\"evil\")"'
is 'what runs is shown' "$(sed -n '/^runs/,$p' "$scratch/shown" | sed -n 2p | cut -c10-)" \
    "$("$NACRE" parse --canonical 'python3   -c   "print(\"evil\")"')"
printf '%s' 'python3 -c "print(\"evil\")"' | "$NACRE" run -w ws - > "$scratch/run" 2>&1
is 'and runs' "$(cat "$scratch/run")" evil

# At the terminal the same holds.
ask_at_terminal() { printf 'no\n' | timeout 30 script -qec "$(printf '%q run -w ws %q' "$NACRE" "$(cat "$scratch/text")")" /dev/null > "$scratch/tty" 2>&1; }
printf 'python3 evil%600s; rm -rf gone \u202e x' '' > "$scratch/text"
ask_at_terminal
like 'at the terminal, padding' "$(cat "$scratch/tty")" '*<600 blanks>; rm -rf gone*'
unlike 'and direction' "$(cat "$scratch/tty")" $'*\u202e*'

done_testing

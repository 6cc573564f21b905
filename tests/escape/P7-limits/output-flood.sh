#!/usr/bin/env bash
# Runs alone.
# P7: a flood on both streams at once is bounded in memory and in what is kept, and does not outlive
# the time limit.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"
# shellcheck source=tests/escape/bomb.sh
. "$(dirname "$0")/../bomb.sh"

tag=$(unique)
"$TOOLS/peak" "$scratch/peak" "$NACRE" run --json --timeout 2s --limit output=64KB --limit processes=10 "yes out-$tag & yes err-$tag >&2 & yes both-$tag 2>&1 | cat >&2 & wait" > "$scratch/result" 2> "$scratch/err"
is 'it ends with the time' "$?" 124
check 'no more than the limit is kept of either' jq -e '(.stdout | length) <= 70000 and (.stderr | length) <= 70000' "$scratch/result"
check 'what was left out is told' jq -e '.stdout_truncated and .stderr_truncated and .stdout_bytes > 1000000' "$scratch/result"
check "nacre stays small ($(cat "$scratch/peak") KB)" test "$(cat "$scratch/peak")" -lt 65536
is_gone 'nobody is left who writes' "yes [a-z]*-$tag"
# One line without an end, and bytes that cannot be shown.
bomb --timeout 2s --limit output=16KB 'tr "\0" "\033" < /dev/zero & head -c 3M /dev/urandom >&2; wait'
check 'the result is valid all the same' jq -e .status "$scratch/result"
check 'and small' test "$(wc -c < "$scratch/result")" -lt 1000000
unharmed 'the flood'

done_testing

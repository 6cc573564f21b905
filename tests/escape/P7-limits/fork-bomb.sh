#!/usr/bin/env bash
# Runs alone.
# P7: a fork bomb of the shell stops at the limit on processes, and the host does not feel it.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"
# shellcheck source=tests/escape/bomb.sh
. "$(dirname "$0")/../bomb.sh"

tag=$(unique)
# The text comes on standard input, so that nacre's own arguments do not have the tag.
printf '%s' "f() { bash -c 'sleep 1' $tag & f | f & }; f; while :; do bash -c ': ; sleep 1' $tag & done" > "$scratch/text"
(
    for _ in {1..40}; do
        pgrep -c -f -- "$tag"
        sleep 0.1
    done | sort -n | tail -1 > "$scratch/most"
) &
counter=$!
bomb --timeout 3s --limit processes=6 --limit memory=200MB - < "$scratch/text"
wait "$counter"
unharmed 'the bomb'
check "control: it made some ($(cat "$scratch/most"))" test "$(cat "$scratch/most")" -ge 2
check 'never many at once' test "$(cat "$scratch/most")" -le 12
is_gone 'none is left' "$tag"
shopt -s extglob
like 'it ended in one of the ways that runs end in' "$status" '@(timeout|limit|failed|ok|killed)'

done_testing

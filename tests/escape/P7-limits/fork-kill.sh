#!/usr/bin/env bash
# Runs alone.
# P7, L6: a process counts although its parent is killed in the moment of its birth.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"

cp "$TOOLS/attack_spawn" .
nacre run --limit processes=64 --timeout 20s './attack_spawn 5 1'
like 'control: far below the limit there is room' "$out" 'GOT *'
nacre run --json --limit processes=5 --timeout 20s './attack_spawn 5 3'
check 'inside there is none beyond the limit' jq -e '.status == "ok" and .stdout == "done\n"' "$scratch/out"
check 'and the count is what it says' jq -e '.resource_usage.processes_peak <= 7' "$scratch/out"

done_testing

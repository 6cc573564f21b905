#!/usr/bin/env bash
# Runs alone.
# P7: a workspace in memory is memory: what lies in it and what processes hold count together.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"

nacre run --json --timeout 20s -w :memory: --limit memory=64MB 'head -c 50M /dev/zero > f; /usr/bin/python3 -c "
import time
x = bytearray(45 << 20)
time.sleep(3)"; echo held'
is 'a file and a process that are too much together' "$(jq -r '.status + " " + .limit.name' "$scratch/out")" 'limit memory'
nacre run --json --timeout 20s -w :memory: --limit memory=64MB 'head -c 20M /dev/zero > f; /usr/bin/python3 -c "x = bytearray(20 << 20)"; echo fine'
is 'control: less is fine' "$(jq -r .stdout "$scratch/out")" fine
done_testing

#!/usr/bin/env bash
# Runs alone.
# P7: processor time is that of the whole tree: of many processes, of those that have died, of those
# whom nobody waits for, and of threads.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"
# shellcheck source=tests/escape/bomb.sh
. "$(dirname "$0")/../bomb.sh"

cp "$TOOLS/attack_bomb" .
bomb --limit cpu=1s 'sleep 1.2; echo slept'
is 'control: sleeping costs nothing' "$out" slept
bomb --limit cpu=1s './attack_bomb burn 7 1'
ended 'one process'
bomb --limit cpu=1s --limit processes=20 './attack_bomb burn 7 8'
ended 'eight processes'
bomb --limit cpu=1s 'for i in {1..60}; do timeout 0.15 bash -c "while :; do :; done"; done; echo held'
ended 'one after the other'
bomb --limit cpu=1s './attack_bomb burn-short 7'
ended 'short ones that nobody waits for'
bomb --limit cpu=1s 'trap "" XCPU; ulimit -t unlimited 2>/dev/null; for i in {1..60}; do (setsid timeout 0.15 bash -c "trap \"\" XCPU; while :; do :; done" &); sleep 0.1; done; echo held'
ended 'in sessions of their own'

done_testing

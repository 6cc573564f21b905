#!/usr/bin/env bash
# Runs alone.
# P7: memory that the kernel holds for a process, and that shows nowhere as its own, is bounded all the same:
# semaphores, messages, tables of pages, connections, names of empty files.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"
# shellcheck source=tests/escape/bomb.sh
. "$(dirname "$0")/../bomb.sh"

cp "$TOOLS/attack_bomb" .
for how in semaphores messages tables tcp names; do
    bomb --timeout 3s --limit memory=64MB --limit files=100 "./attack_bomb memory $how 300"
    held=${out#held }
    # Ended, or told that there is no more.
    if [ "$status" = limit ] || [ "${held:-0}" -le 128 ]; then ok "$how: no more than twice the limit ($status, ${held:-0} MB)"; else
        not_ok "$how: no more than twice the limit" "$held MB were held"
    fi
    unharmed "$how"
done

done_testing

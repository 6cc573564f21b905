#!/usr/bin/env bash
# Runs alone.
# P7: memory that the kernel holds for pipes and sockets is bounded by the limits of the tree.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"
# shellcheck source=tests/escape/bomb.sh
. "$(dirname "$0")/../bomb.sh"

cp "$TOOLS/attack_bomb" .
for how in pipes sockets; do
    bomb --limit memory=64MB --limit files=100 --limit processes=5 "for i in 1 2 3 4; do ./attack_bomb memory $how 300 & done; sleep 1.5; kill %1 %2 %3 %4"
    sum=0
    for word in ${out//held/}; do sum=$((sum + word)); done
    if [ "$status" = limit ] || [ "$sum" -le 128 ]; then ok "$how: no more than twice the limit ($status, $sum MB)"; else
        not_ok "$how: no more than twice the limit" "$sum MB"
    fi
    unharmed "$how"
done

done_testing

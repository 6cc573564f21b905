#!/usr/bin/env bash
# Runs alone.
# P7: one process that takes more memory than the tree may have is ended; so is one with many
# threads.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"
# shellcheck source=tests/escape/bomb.sh
. "$(dirname "$0")/../bomb.sh"

cp "$TOOLS/attack_bomb" .
bomb --limit memory=64MB './attack_bomb memory one 20 & sleep 1; kill $!'
is 'control: what is below the limit is held' "$out" 'held 20'
for how in one threads shared; do
    bomb --limit memory=64MB "./attack_bomb memory $how 300"
    ended "$how"
    unlike "$how: it never had all of it" "$out" '*held*'
done

done_testing

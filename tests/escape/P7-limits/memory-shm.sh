#!/usr/bin/env bash
# Runs alone.
# P7: SysV shared memory that nobody has mapped counts too, and is gone with the run.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"
# shellcheck source=tests/escape/bomb.sh
. "$(dirname "$0")/../bomb.sh"

cp "$TOOLS/attack_bomb" .
before=$(ipcs -m | wc -l)
bomb --timeout 3s --limit memory=64MB './attack_bomb memory shm 300'
unlike 'it never had all of it' "$out" '*held 300*'
unharmed 'shared memory'
is 'and none is on the host' "$(ipcs -m | wc -l)" "$before"
nacre run 'ipcs -m | grep -c ^0x'
is 'nor in the next run' "$out" 0

done_testing

#!/usr/bin/env bash
# Runs alone.
# P7: one file that grows past the limit on disk ends the run: written, allocated, mapped, or with
# times that are set back.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"
# shellcheck source=tests/escape/bomb.sh
. "$(dirname "$0")/../bomb.sh"

mkdir ws
cp "$TOOLS/attack_bomb" ws/
bomb -w ws --limit disk=20MB 'head -c 10M /dev/zero > small; stat -c %s small'
is 'control: what is below the limit is written' "$out" 10485760
rm -f ws/small
for how in one allocated mapped old; do
    bomb -w ws --limit disk=20MB "./attack_bomb disk $how big 200"
    ended "$how"
    size=$(du -sm ws | cut -f1)
    check "$how: the host has no more than some of it ($size MB)" test "$size" -lt 120
    rm -f ws/big*
done
bomb -w ws --limit disk=20MB './attack_bomb disk sparse big 4000'
check 'sparse: it takes no room' test "$(du -sm ws | cut -f1)" -lt 10
unharmed 'sparse'

done_testing

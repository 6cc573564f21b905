#!/usr/bin/env bash
# Runs alone.
# P7: memory that is a file counts: a memfd, one that is under way in a socket, and files in /tmp,
# /dev/shm, /run and the home.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"
# shellcheck source=tests/escape/bomb.sh
. "$(dirname "$0")/../bomb.sh"

cp "$TOOLS/attack_bomb" .
bomb --timeout 4s --limit memory=64MB './attack_bomb memory memfd 300'
unlike 'a memfd: it never had all of it' "$out" '*held 300*'
unharmed 'a memfd'
bomb --timeout 4s --limit memory=64MB './attack_bomb memory flight 320'
unlike 'a memfd that nobody has open: it never had all of it' "$out" '*held 320*'
unharmed 'a memfd that nobody has open'
for place in /tmp /var/tmp /dev/shm /run '$HOME'; do
    bomb --limit memory=64MB "head -c 300M /dev/zero > $place/x; stat -c %s $place/x"
    # Ended, or told that the place is full.
    if [ "$status" = limit ] || [ "${out:-0}" -lt $((100 << 20)) ]; then ok "$place: it does not take all of it"; else
        not_ok "$place: it does not take all of it" "status $status, $out bytes"
    fi
done
unharmed 'files'
# Neither alone is too much.
bomb --limit memory=64MB 'head -c 40M /dev/zero > /tmp/x; head -c 40M /dev/zero > /dev/shm/y; stat -c %s /tmp/x /dev/shm/y; ./attack_bomb memory one 40'
unlike 'files and memory together: not all of it' "$out" $'41943040\n41943040\nheld*'
nacre run 'find /tmp /var/tmp /dev/shm /run ~ -xdev -type f -size +1M -not -path "$PWD/*"'
prints 'the next run finds nothing of it' ''

done_testing

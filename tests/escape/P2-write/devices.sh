#!/usr/bin/env bash
# P2: no device can be made or opened but the listed ones.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"

cp "$TOOLS/attack" .
mkdir d
for place in . d /tmp /dev /dev/shm /dev/pts '$HOME' /run; do
    nacre run "./attack nodes $place"
    prints "no device can be made in $place" 'done'
done
is 'none is there' "$(find . -type b -o -type c)" ''
if [ "$(id -u)" = 0 ] && mknod d/disk b "$(stat -c '%Hr %Lr' "$(df --output=source / | tail -1)" 2> /dev/null || echo 8 0)" 2> /dev/null || [ -e d/disk ]; then
    chmod 666 d/disk
fi
if [ "$(id -u)" = 0 ]; then
    mknod d/zero c 1 5
    chmod 666 d/zero
    check 'control: the device works on the host' test "$(head -c 1 d/zero | wc -c)" = 1
    nacre run 'head -c 1 d/zero | wc -c; head -c 1 d/disk 2>/dev/null | wc -c'
    is 'a device that lies in the workspace does not open' "$out" $'0\n0'
fi
nacre run './attack nodes /tmp; unshare -Ur ./attack nodes /tmp; unshare -Urm sh -c "mount -t tmpfs none /tmp && cp attack /tmp/ && ./attack nodes /tmp"'
unlike 'nor in a user namespace' "$out" '*GOT*'

done_testing

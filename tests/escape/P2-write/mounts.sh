#!/usr/bin/env bash
# P2: nothing can be mounted, remounted or unmounted; in a user namespace of its own, nothing of the host becomes writable.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"

cp "$TOOLS/attack" .
nacre run './attack mounts'
prints 'no mount call does anything' 'done'
nacre run 'for c in "mount -t tmpfs none /tmp" "mount -o remount,rw /usr" "mount -o remount,rw,bind /usr" "mount --bind /tmp /usr" "umount -l /usr" "umount /proc/keys" "mount --make-rshared /" "chroot / true" "unshare -m true"; do
    $c 2>/dev/null && echo "GOT $c"
done; echo done'
prints 'nor do the programs' 'done'
marker=/usr/nacre-test-$$
nacre run "unshare -Urm bash -c '
    mount -o remount,rw /usr; mount -o remount,rw,bind /usr; mount -o remount,rw,bind,suid,dev /usr; umount /usr; umount -l /usr
    touch $marker && echo GOT; mkdir -p /tmp/m; mount --rbind / /tmp/m; mount -o remount,rw,bind /tmp/m/usr; touch /tmp/m$marker && echo GOT
    mount --bind /usr /tmp/m; mount -o remount,rw,bind /tmp/m; touch /tmp/m/${marker#/usr/} && echo GOT
    umount /proc/keys && cat /proc/keys && echo GOT; umount -l /proc && echo GOT; mount -o remount,rw /proc && echo GOT' 2>/dev/null; echo done"
unlike 'in a user namespace nothing of the system becomes writable' "$out" '*GOT*'
like 'control: it was tried' "$out" '*done'
check 'and the host has no such file' test ! -e "$marker"
nacre run './attack nested; echo end'
like 'with every capability of a nested namespace: tried' "$out" '*done*end'
unlike 'with every capability of a nested namespace: nothing' "$out" '*GOT*'
is 'and nothing reached the host' "$(ls -d /usr/nacre-test-nested /nacre-test-nested 2> /dev/null)" ''
# Nor does a mount that is made there reach the host.
before=$(wc -l < /proc/self/mountinfo)
nacre run 'unshare -Urm bash -c "mount -t tmpfs none /tmp; mkdir -p x; mount --bind /tmp x; sleep 0.2" 2>/dev/null; true'
is 'no mount reaches the host' "$(wc -l < /proc/self/mountinfo)" "$before"

done_testing

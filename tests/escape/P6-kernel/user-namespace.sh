#!/usr/bin/env bash
# P6: what a nested user namespace gives reaches nothing of the host (the call itself is closed later).
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"

marker=/usr/nacre-test-$$
secret=/tmp/nacre-test-$(unique)
echo secret > "$secret"
nacre run "unshare -Ur bash -c 'touch $marker; cat $secret; echo harm > /etc/passwd; kill -9 $$; echo x > /proc/sys/kernel/core_pattern; mknod /tmp/m b 8 0; chroot / cat $secret' 2>/dev/null
unshare -UrmpinuC --fork --mount-proc=/tmp bash -c 'cat $secret; touch $marker' 2>/dev/null; nsenter -t 1 -a cat $secret 2>/dev/null; nsenter -U -t 1 id 2>/dev/null; echo tried"
like 'control: it was tried' "$out" '*tried'
unlike 'nothing of the host was read' "$out" '*secret*'
check 'nothing was written' test ! -e "$marker"
is_file 'nor changed' "$secret" $'secret\n'
nacre run 'unshare -Ur bash -c "cat /proc/self/uid_map; chown 5 /tmp 2>/dev/null && echo GOT; setpriv --reuid=65534 true 2>/dev/null && echo GOT; true" 2>/dev/null'
unlike 'no other user can be had' "$out" '*GOT*'
rm -f "$secret"

done_testing

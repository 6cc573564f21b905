#!/usr/bin/env bash
# P6: no nested user namespace, and so no mounts, no cgroup tree and no file capabilities from one.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"

before=$(cat /proc/sys/user/max_user_namespaces)
nacre run 'for flags in -U -Ur -Um -UC "-U -f -p" "-UrmC"; do unshare $flags true 2>/dev/null && echo "GOT $flags"; done; echo tried'
prints 'no user namespace can be made' tried
nacre run 'mkdir /tmp/m; unshare -UmC bash -c "mount -t cgroup2 none /tmp/m && ls /tmp/m && echo GOT" 2>/dev/null; mount -t cgroup2 none /tmp/m 2>/dev/null && echo GOT; mount -t tmpfs none /tmp/m 2>/dev/null && echo GOT; echo tried'
prints 'nothing can be mounted' tried
nacre run 'cp /bin/true t; unshare -Ur setcap cap_sys_admin+ep t 2>/dev/null; setcap cap_sys_admin+ep t 2>/dev/null; true'
is 'no file capability is left in the workspace' "$(getcap t)" ''
nacre run 'echo 100 > /proc/sys/user/max_user_namespaces && echo GOT; true' 2> /dev/null
unlike 'the limit cannot be lifted' "$out" '*GOT*'
is "and the host's is as it was" "$(cat /proc/sys/user/max_user_namespaces)" "$before"

done_testing

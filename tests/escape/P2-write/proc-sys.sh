#!/usr/bin/env bash
# P2: no control of the kernel under /proc can be written, also when root started us.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"

# Only what a run could change by accident is compared: all of them, before and after.
snapshot() { for f in kernel/core_pattern kernel/modprobe kernel/hostname kernel/sysrq vm/overcommit_memory fs/suid_dumpable kernel/randomize_va_space kernel/ns_last_pid net/ipv4/ip_forward; do
    [ "$f" = kernel/ns_last_pid ] || echo "$f $(cat "/proc/sys/$f" 2>/dev/null)"; done; }
before=$(snapshot)
like 'control: the snapshot has something' "$before" '*core_pattern ?*'
nacre run 'find /proc/sys /proc/sysrq-trigger /proc/irq /proc/bus /proc/fs /proc/acpi /proc/scsi /proc/driver /proc/mtrr /proc/timer_list -type f 2>/dev/null | wc -l'
check 'control: there are many files to try' test "$out" -gt 100
nacre run 'find /proc -path "/proc/[0-9]*" -prune -o -type f -print 2>/dev/null | while read -r f; do
    case $f in /proc/self/*|/proc/thread-self/*) continue ;; esac
    { exec 9>> "$f"; } 2>/dev/null && { echo "GOT $f"; exec 9>&-; }
done; echo done'
prints 'no file of /proc can be opened for writing' 'done'
nacre run 'for v in "|/tmp/evil" core; do echo "$v" > /proc/sys/kernel/core_pattern; done; echo 1 > /proc/sys/kernel/sysrq; echo h > /proc/sysrq-trigger
    echo /tmp/evil > /proc/sys/kernel/modprobe; echo 1 > /proc/sys/vm/overcommit_memory; sysctl -w kernel.core_pattern=evil; chmod 666 /proc/sys/kernel/core_pattern
    echo -1000 > /proc/self/oom_score_adj; echo -1000 > /proc/1/oom_score_adj; echo "0 0 1" > /proc/self/uid_map; echo harm > /proc/sys/kernel/hostname; hostname harm; true'
is 'the host'"'"'s settings are what they were' "$(snapshot)" "$before"
check 'and its processes are not favoured' test "$(cat /proc/self/oom_score_adj)" -ge -999
nacre run 'mount -t proc none /tmp 2>/dev/null || mount -o remount,rw /proc 2>/dev/null || umount /proc 2>/dev/null && echo GOT; echo done'
prints '/proc cannot be mounted anew' 'done'
# In a user namespace of its own a process may mount; never a /proc that is writable and whole.
nacre run 'unshare -Urmpf --kill-child bash -c "mkdir -p /tmp/p; mount -t proc none /tmp/p && echo GOT proc && ls /tmp/p/keys && cat /tmp/p/keys; echo x > /tmp/p/sys/kernel/core_pattern && echo GOT core" 2>/dev/null; echo done'
unlike 'not in a namespace of its own either' "$out" '*GOT*'
is 'the host'"'"'s settings are still what they were' "$(snapshot)" "$before"

done_testing

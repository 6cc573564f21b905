#!/usr/bin/env bash
# P1, P2: the files with which the kernel shows itself, its memory, its log and its switches are not
# there, or say nothing.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"

nacre run 'for f in /proc/kcore /proc/kmsg /proc/kpagecount /proc/kpageflags /proc/kpagecgroup /proc/vmallocinfo /proc/slabinfo /proc/timer_list /proc/sched_debug /proc/keys /proc/key-users /proc/sysrq-trigger /proc/latency_stats /proc/1/stack /proc/1/pagemap /proc/1/mem \
    /dev/mem /dev/kmem /dev/port /dev/kmsg /dev/kvm /dev/fuse /dev/net/tun /dev/vhost-net /dev/vsock /dev/userfaultfd /dev/uinput /dev/loop-control /dev/loop0 /dev/sda /dev/vda /dev/dri /dev/snd /dev/cpu /dev/msr /dev/mapper/control /dev/watchdog /dev/hwrng /dev/rtc /dev/tty0 /dev/console /dev/input /dev/bus \
    /sys /sys/kernel /sys/kernel/debug /sys/kernel/tracing /sys/kernel/security /sys/fs/cgroup /sys/fs/bpf /sys/firmware /sys/module /sys/class/net /sys/power/state; do
    if [ -d "$f" ]; then [ -z "$(ls -A "$f" 2>/dev/null)" ] || echo "GOT $f"; continue; fi
    [ -z "$(timeout 1 head -c 1 "$f" 2>/dev/null | tr "\0" x)" ] || echo "GOT $f"
    { : >> "$f"; } 2>/dev/null && [ ! -f "$f" ] && echo "GOT $f for writing"
done; echo done'
prints 'none of them is in reach' 'done'
check 'control: the host has some' test -e /dev/kmsg -o -e /proc/kcore
# The addresses of the kernel are no secret only where they are zeros.
nacre run 'cat /proc/kallsyms /proc/modules 2>/dev/null | awk "\$1 !~ /^0+\$/ && \$1 ~ /^ffff/ || /0xffff/" | head -1; echo done'
prints 'no address of the kernel is told' 'done'
nacre run 'cat /proc/self/stack 2>/dev/null | grep -c ffff; grep -c . /proc/self/mountstats; find / -xdev \( -name cgroup.procs -o -name tasks -o -name release_agent \) -not -path "/proc/*" 2>/dev/null | head; mkdir /tmp/c; mount -t cgroup2 none /tmp/c 2>/dev/null && echo GOT; mount -t debugfs none /tmp/c 2>/dev/null && echo GOT; mount -t tracefs none /tmp/c 2>/dev/null && echo GOT; mount -t securityfs none /tmp/c 2>/dev/null && echo GOT; echo done'
unlike 'no control group, no tracing file, and no way to mount them' "$out" '*GOT*'
like 'control: it was tried' "$out" '*done'
unlike 'none was found' "$out" '*cgroup.procs*'

done_testing

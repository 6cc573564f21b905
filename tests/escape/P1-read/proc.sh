#!/usr/bin/env bash
# P1: /proc shows the run's own processes alone, and no way out through them; L4.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"

cp "$TOOLS/attack" .
tag=$(unique)
SECRET_WORD=in-environ-$tag sleep "$tag" &
host=$!
check 'control: the host'"'"'s process can be seen by its owner' wait_until 10 grep -q "in-environ-$tag" "/proc/$host/environ"
nacre run "cat /proc/[0-9]*/environ /proc/[0-9]*/task/*/environ 2>/dev/null | tr '\0' '\n'; cat /proc/[0-9]*/cmdline | tr '\0' ' '; echo; echo looked"
like 'control: the command looked' "$out" '*looked*'
unlike 'no environment of the host' "$out" "*in-environ-$tag*"
unlike 'no command line of the host' "$out" "*sleep $tag *"
nacre run 'ls -d /proc/[0-9]* | wc -l'
check 'few processes are there' test "$out" -lt 8
nacre run 'ls -A /proc/1/root/ /proc/1/cwd/ /proc/1/fd /proc/1/map_files /proc/1/task/1/root/ 2>/dev/null; cat /proc/1/environ /proc/1/maps /proc/1/auxv 2>/dev/null | tr "\0" "\n"; readlink /proc/1/exe /proc/1/root /proc/1/cwd /proc/1/ns/* ; echo done'
prints 'process 1 shows nothing (L4)' 'done'
nacre run './attack trace 1'
prints 'nor can it be traced (L4)' 'done'
nacre run "./attack trace $host; ./attack trace $$"
prints 'nor the host'"'"'s processes by their numbers' $'done\ndone'
nacre run 'cat /proc/self/mountinfo'
for word in " $HOME/.ssh" ' /boot ' ' /sys '; do
    unlike "the list of mounts does not have '$word'" "$out " "*$word*"
done
nacre run 'ls /sys /proc/sys/../../sys 2>/dev/null; cat /proc/keys /proc/key-users /proc/kmsg /proc/kcore 2>/dev/null | head -c 100; echo done'
prints 'no /sys, no keys, no kernel memory' 'done'
nacre run 'dmesg 2>/dev/null | head -1; cat /dev/kmsg /dev/mem /dev/kmem /dev/port 2>/dev/null | head -c 10; ls /dev'
is 'the devices are the listed ones' "$(tr '\n' ' ' <<< "$out")" 'fd full mqueue null ptmx pts random shm stderr stdin stdout tty urandom zero '
nacre run 'find /proc/self/ns -type l -printf "%f %l\n"'
same=''
while read -r name link; do
    # The namespace of time is not changed.
    case $name in time*) continue ;; esac
    [ "$(readlink "/proc/self/ns/$name")" = "$link" ] && same+="$name "
done <<< "$out"
is 'every namespace is a new one' "$same" ''
kill "$host"

done_testing

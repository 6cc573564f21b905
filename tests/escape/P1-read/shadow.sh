#!/usr/bin/env bash
# P1: the files of /etc that hold secrets are not there, under any name.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"

nacre run 'for f in shadow shadow- gshadow gshadow- sudoers sudoers.d ssh ssl/private security krb5.keytab machine-id; do
    for path in /etc/$f /etc/../etc/$f /proc/self/root/etc/$f /proc/thread-self/root/etc/$f //etc//./$f; do
        if [ -e "$path" ] || [ -L "$path" ]; then echo "GOT $path"; fi
        head -c 1 "$path" 2>/dev/null && echo "GOT $path"
    done
done; echo done'
prints 'no secret file of /etc is there' 'done'
nacre run 'cat /etc/passwd'
is 'passwd is our own' "$(wc -l < "$scratch/out")" 3
unlike 'it does not name the host'"'"'s users' "${out//:$HOME:/:}" "*$TEST_USER*"
# All files below /etc are the listed ones; none is readable by root alone on the host.
nacre run 'find /etc -type f'
found=0
while read -r file; do
    if [ -e "$file" ] && [ "$(stat -L -c '%#a' "$file")" != 0444 ] && [ $((0$(stat -L -c '%a' "$file") & 4)) = 0 ]; then
        not_ok 'a private file of the host is shown' "$file"
    fi
    found=$((found + 1))
done <<< "$out"
check 'files of /etc were looked at' test "$found" -gt 5

done_testing

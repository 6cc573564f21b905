#!/usr/bin/env bash
# P1: no link of /proc is a way out: root, cwd, exe, fd, map_files and their like, of any process
# that is seen.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"

mkdir ws out
secret="secret-$(unique)"
echo "$secret" > out/secret
tag=$(unique)
(cd out && exec sleep "$tag") 3< out/secret 4< / &
host=$!
wait_until 5 alive "^sleep $tag"
check 'control: on the host the directory is such a way' grep -q "$secret" "/proc/$host/cwd/secret" "/proc/$host/fd/3" "/proc/$host/root$PWD/out/secret"
nacre run -w ws "for p in self thread-self 1 2 3 4 \$\$ \$PPID $host $$ $PPID; do
    for way in root cwd fd/3 fd/4 fd/5 fd/6 task/\$p/root task/\$p/cwd exe/..; do
        cat /proc/\$p/\$way/secret /proc/\$p/\$way$PWD/out/secret /proc/\$p/\$way/../secret /proc/\$p/\$way/etc/shadow /proc/\$p/\$way
    done
    cat /proc/\$p/map_files/*
done 2>/dev/null | grep -a -c -e $secret -e '^root:[^x]'; echo looked"
is 'inside none is' "$out" $'0\nlooked'
nacre run -w ws 'for p in /proc/[0-9]*; do readlink $p/root $p/cwd; done | sort -u'
for at in $out; do
    case $at in
    / | "$PWD/ws" | /proc) ;;
    *) not_ok 'a directory of a process that lies elsewhere' "$at" ;;
    esac
done
check 'the processes were looked at' test -n "$out"
# What a process is made of lies in what is shown, and so does every open file.
nacre run -w ws 'cut -c74- /proc/[0-9]*/maps 2>/dev/null | grep ^/ | sort -u | while read -r f; do [ -e "$f" ] || echo "odd $f"; done; ls -l /proc/[0-9]*/fd 2>/dev/null | sed -n "s/.* -> //p" | grep ^/ | sort -u | while read -r f; do [ -e "$f" ] || [ "${f#/proc/}" != "$f" ] || echo "odd $f"; done; echo done'
is 'nothing is mapped or open that is not shown' "$out" 'done'
kill "$host"

done_testing

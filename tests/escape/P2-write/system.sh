#!/usr/bin/env bash
# P2: nothing of the system can be written, created, removed, renamed or given another mode.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"

nacre run '[ "${HOME%/*}/nacre-test" != "$HOME" ] || name=x; for d in / /usr /usr/bin /usr/local /usr/local/bin /bin /lib /opt /etc /etc/ssl /etc/ssl/certs /etc/alternatives /dev /home /var /proc /proc/self /dev/pts; do
    touch "$d/nacre-test${name-}" 2>/dev/null && echo "GOT $d"
    mkdir "$d/nacre-test-d" 2>/dev/null && echo "GOT dir in $d"
    ln -s x "$d/nacre-test-l" 2>/dev/null && echo "GOT link in $d"
    chmod 777 "$d" 2>/dev/null && [ "$d" != /proc/self ] && echo "GOT mode of $d"
    mv "$d" "$d.moved" 2>/dev/null && echo "GOT moved $d"
done
for f in /usr/bin/env /bin/sh /etc/passwd /etc/hosts /etc/ld.so.cache /usr/lib/os-release; do
    { : >> "$f"; } 2>/dev/null && echo "GOT $f"
    { : > "$f"; } 2>/dev/null && echo "GOT truncated $f"
    rm -f "$f" 2>/dev/null && echo "GOT removed $f"
    chmod 666 "$f" 2>/dev/null && echo "GOT mode of $f"
    touch -d 2001-01-01 "$f" 2>/dev/null && echo "GOT time of $f"
    setfattr -n user.x -v y "$f" 2>/dev/null && echo "GOT attribute of $f"
done
echo done'
prints 'nothing of the system can be changed' 'done'
is 'and on the host nothing was' "$(ls -d /usr/nacre-test* /etc/nacre-test* /usr/bin/nacre-test* /nacre-test* /opt/nacre-test* 2>/dev/null)" ''
# Every file that the mount table calls writable is one of ours.
nacre run 'while read -r _ _ _ _ at options _; do case ",$options," in *,rw,*) echo "$at" ;; esac; done < /proc/self/mountinfo'
for at in $out; do
    case $at in
    "$PWD" | /tmp | /var/tmp | /run | "$HOME" | /dev/shm | /dev/mqueue | /dev/pts | /dev/null | /dev/zero | /dev/full | /dev/random | /dev/urandom | /dev/tty) ;;
    *) not_ok 'a mount that should be read-only' "$at" ;;
    esac
done
check 'the mounts were looked at' test "$(wc -w <<< "$out")" -gt 6
nacre run 'while read -r _ _ _ _ at options _; do case ",$options," in *,nosuid,*) ;; *) echo "GOT suid $at" ;; esac
    case ",$options," in *,nodev,*) ;; *) echo "dev $at" ;; esac; done < /proc/self/mountinfo | sort'
is 'none takes set-id bits, and only the devices are devices' "$out" \
    "$(printf 'dev /dev/%s\n' full null pts random tty urandom zero)"

done_testing

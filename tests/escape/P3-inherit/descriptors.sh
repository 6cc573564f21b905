#!/usr/bin/env bash
# P3: no descriptor of the caller is inherited.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"

echo "secret-$$" > secret
mkdir ws dir
for fd in 7 8 9 10 11 12 13 14 15 16 17 18 19 20 100 200; do eval "exec $fd<> secret"; done
for fd in 4 5 6; do eval "exec $fd<> secret"; done
exec 3< dir
nacre run -w ws 'ls /proc/self/fd; for f in /proc/self/fd/*; do readlink "$f"; done'
unlike 'no file of ours is open' "$out" '*secret*'
unlike 'nor a directory' "$out" '*dir'$'\n''*'
# ls has the directory itself open, as its descriptor 3.
is 'there are three and the one of ls' "$(head -4 <<< "$out" | tr '\n' ' ')" '0 1 2 3 '
nacre run -w ws 'for n in 3 4 5 6 7 8 9 12 13 14 15 16 17 18 19 20 21 22 100 200; do { : <&$n; } 2>/dev/null && echo "GOT $n"; { : >&$n; } 2>/dev/null && echo "GOT $n"; done; echo done'
# 10 and 11 are those of bash itself while it redirects.
is 'none can be used' "$out" 'done'
nacre run -w ws 'cat /proc/[0-9]*/fd/[3-9]* 2>/dev/null; ls -l /proc/[0-9]*/fd 2>/dev/null | grep -c secret'
is 'nor those of another process inside' "$out" 0
{ printf '#%0150000d\n' 0; printf '%s\n' 'ls /proc/self/fd | tr "\n" " "; for n in 3 4 5 6 7 8; do { : <&$n; } 2>/dev/null && echo "GOT $n"; done; true'; } > "$scratch/long"
nacre run -w ws - < "$scratch/long"
is 'the same for a long text' "$out" '0 1 2 3 '
# A descriptor of the host's root would be a way out.
exec 30< /
nacre run -w ws 'for f in /proc/*/fd/*; do [ -d "$f/root" ] && echo "GOT $f"; done; cat /proc/self/fd/30/etc/shadow /dev/fd/30/etc/hostname 2>/dev/null; echo done'
is 'no directory of the host is a way out' "$out" 'done'
is 'the secret is what it was' "$(cat secret)" "secret-$$"

done_testing

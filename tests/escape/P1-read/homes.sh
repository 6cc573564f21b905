#!/usr/bin/env bash
# P1: no home, neither the caller's nor anybody else's.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"

secret="secret-$(unique)"
homes=("$HOME")
echo "$secret" > "$HOME/.nacre-test-secret-$$"
if [ "$(id -u)" = 0 ]; then
    other=$(getent passwd "$TEST_USER" | cut -d: -f6)
    homes+=("$other")
    echo "$secret" > "$other/.nacre-test-secret-$$"
    chmod 644 "$other/.nacre-test-secret-$$"
fi
trap 'rm -f "${homes[@]/%//.nacre-test-secret-$$}"; rm -rf "$scratch"' EXIT
for home in "${homes[@]}"; do
    check "control: the host has the file in $home" grep -q "$secret" "$home/.nacre-test-secret-$$"
    nacre run "cat $home/.nacre-test-secret-$$; ls -a $home; cat ~${home##*/}/.nacre-test-secret-$$"
    unlike "it cannot be read in $home" "$out$err" "*$secret*"
    unlike "nor seen" "$out" "*nacre-test-secret*"
done
nacre run 'ls -A /root /home /home/* /mnt /media /srv /boot /var/lib /var/log /var/spool /var/mail /lost+found 2>/dev/null | grep -v "^/\|^$\|^\.gitconfig$\|^\.cargo$\|^\.pyenv$\|^\.rustup$\|^${HOME##*/}$"; echo done'
prints 'no other place of the host has anything in it' 'done'
nacre run "grep -rsl '$secret' / --include='.nacre-test-secret*' 2>/dev/null; find / -xdev -name '.nacre-test-secret*' 2>/dev/null; echo done"
prints 'nor is it found by a search of everything' 'done'
nacre run 'ls -A /'
for name in $out; do
    case $name in
    bin | sbin | lib | lib32 | lib64 | libx32 | usr | opt | etc | dev | proc | tmp | var | run | home | "$(cut -d/ -f2 <<< "$HOME")") ;;
    "$(cut -d/ -f2 <<< "$PWD")") ;;
    *) not_ok 'a directory of the root that was not listed' "$name" ;;
    esac
done
check 'the root was looked at' test "$(wc -w <<< "$out")" -gt 8

done_testing

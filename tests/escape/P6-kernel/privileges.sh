#!/usr/bin/env bash
# P6, L4: no_new_privs, no capability in any set, and no program gives any back.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"

want=$'CapInh: 0000000000000000\nCapPrm: 0000000000000000\nCapEff: 0000000000000000\nCapBnd: 0000000000000000\nCapAmb: 0000000000000000\nNoNewPrivs: 1'
nacre run 'grep -E "^(Cap|NoNewPrivs)" /proc/self/status | tr -s "\t" " "'
prints 'no capability in any set (L4)' "$want"
nacre run 'for p in /proc/[0-9]*; do grep -E "^(Cap|NoNewPrivs)" $p/status; done > /tmp/sets; sort -u /tmp/sets | wc -l'
is 'nor in any process' "$out" 6
nacre run 'for c in "su -c id" "su root -c id" "sudo -n id" "mount" "passwd -S root" "newgrp root" "ping -c 1 127.0.0.1" "chsh -s /bin/sh" "pkexec id" "crontab -l" "at -l" "unix_chkpwd root nullok" "fusermount -u /tmp"; do
    timeout 5 $c < /dev/null 2>/dev/null | grep -E "uid=0|euid=0|^root [PLN]" && echo "GOT $c"
done; echo done'
prints 'no program with a set-id bit gives anything' 'done'
nacre run 'find / -xdev -perm /6000 -type f 2>/dev/null | while read -r f; do timeout 5 "$f" --help < /dev/null 2>/dev/null | grep -q "uid=0" && echo "GOT $f"; done; echo done'
is 'nor does any other' "$out" 'done'
# A shell with a set-id bit in the workspace, made by the host: on another run it must give nothing.
cp /bin/bash suid-bash
if [ "$(id -u)" = 0 ]; then chown root suid-bash; fi
chmod 6755 suid-bash
check 'control: the bit is set' test -u suid-bash
nacre run './suid-bash -p -c "id -u; id -ru; grep CapEff /proc/self/status | grep -v 0000000000000000; true"'
prints 'a set-id file in the workspace gives nothing' $'1000\n1000'
if [ "$(id -u)" = 0 ] && command -v setcap > /dev/null; then
    cp /bin/bash cap-bash
    setcap cap_sys_admin,cap_net_raw,cap_dac_override+ep cap-bash
    nacre run './cap-bash -c "grep CapEff /proc/self/status"'
    unlike 'file capabilities give nothing' "${out#*:}" '*[1-9a-f]*'
    check 'control: outside they do' bash -c '[ -n "$(getcap cap-bash)" ]'
fi
nacre run 'cp /bin/bash /tmp/b; chmod 6777 /tmp/b; /tmp/b -p -c "id -u"; cp /bin/bash b; chmod 6777 b; ./b -p -c "id -u"'
is 'nor do bits that are set inside' "$(sort -u <<< "$out")" 1000
rm -f b
nacre run 'setpriv --reuid=0 id 2>/dev/null; setpriv --clear-groups true 2>/dev/null && echo GOT; chown 0:0 /tmp 2>/dev/null && echo GOT; chroot / 2>/dev/null && echo GOT; nice -n -5 true 2>/dev/null | grep -q x && echo GOT; hostname x 2>/dev/null && echo GOT; date -s 2001-01-01 2>/dev/null && echo GOT; echo done'
is 'no call that needs a capability works' "$(tail -1 <<< "$out")" 'done'
unlike 'none at all' "$out" '*GOT*'

done_testing

#!/usr/bin/env bash
# P2, P6: no file gets a capability, a trusted attribute or a security label from inside, by any
# call.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"

cp "$TOOLS/attack_files" .
cp /bin/bash program
cp /bin/bash control
if [ "$(id -u)" = 0 ]; then
    like 'control: root of the host can' "$("$TOOLS/attack_files" capability control)" '*GOT capabilities*'
    check 'control: it is seen' test -n "$(getcap control)"
fi
rm -f control
nacre run './attack_files capability program; ./attack_files capability attack_files; cp /bin/sh /tmp/p; ./attack_files capability /tmp/p'
prints 'inside nothing does' $'done\ndone\ndone'
nacre run 'unshare -Ur ./attack_files capability program 2>/dev/null; unshare -U ./attack_files capability program 2>/dev/null; unshare -Ur setcap cap_net_raw+ep program 2>/dev/null; true'
unlike 'nor in a namespace of its own' "$out" '*GOT*'
is 'none is left' "$(getcap -r . 2> /dev/null)" ''
is 'no attribute is left' "$(python3 -c 'import os; print(*[a for f in os.listdir(".") for a in os.listxattr(f)])')" ''
# An archive that has them inside.
if [ "$(id -u)" = 0 ] && command -v setcap > /dev/null; then
    mkdir "$scratch/in"
    cp /bin/bash "$scratch/in/armed"
    setcap cap_sys_admin+ep "$scratch/in/armed"
    tar --xattrs --xattrs-include='*' -C "$scratch/in" -cf armed.tar armed
    nacre run 'tar --xattrs --xattrs-include="*" -xpf armed.tar 2>/dev/null; ls armed'
    like 'control: the archive was unpacked' "$out" armed
    is 'without its capabilities' "$(getcap armed)" ''
fi

done_testing

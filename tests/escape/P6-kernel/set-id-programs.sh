#!/usr/bin/env bash
# P6: programs with a set-id bit, or with file capabilities, give nothing, wherever they lie and
# however they are started.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"

cp /usr/bin/id suid-id
cp /bin/bash suid-bash
chmod 6755 suid-id suid-bash
check 'control: the bits are set' test -u suid-id -a -g suid-bash
look='grep -E "^(Uid|Gid|CapEff|CapPrm|NoNewPrivs)" /proc/self/status'
nacre run "$look"
want=$out
like 'control: it tells who it is' "$want" '*Uid:*1000*CapEff:*0000000000000000*NoNewPrivs:*1*'
nacre run "./suid-bash -p -c '$look'; exec ./suid-bash -p -c '$look'"
is 'in the workspace' "$out" "$want"$'\n'"$want"
nacre run "/lib64/ld-linux-x86-64.so.2 ./suid-bash -p -c '$look' 2>/dev/null || ./suid-bash -p -c '$look'"
is 'by the loader' "$out" "$want"
nacre run "cp -p suid-bash /tmp/b; chmod 6755 /tmp/b; /tmp/b -p -c '$look'; cp suid-bash ~/b; chmod 4755 ~/b; ~/b -p -c '$look'"
is 'in a place of its own' "$out" "$want"$'\n'"$want"
nacre run 'python3 -c "import os; fd = os.open(\"suid-id\", os.O_RDONLY); os.execve(fd, [\"id\", \"-u\"], {})"'
is 'by a descriptor' "$out" 1000
is 'no set-id program has come to the workspace' "$(find . -perm /6000 | sort | tr '\n' ' ')" './suid-bash ./suid-id '

done_testing

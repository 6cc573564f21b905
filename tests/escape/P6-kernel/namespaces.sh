#!/usr/bin/env bash
# P6: no namespace of any kind can be made or entered, by unshare, clone, clone3 or setns.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"

cp "$TOOLS/attack_kernel" .
like 'control: outside a user can' "$("$TOOLS/attack_kernel" namespaces)" '*GOT user by unshare*GOT*by clone3*'
nacre run './attack_kernel namespaces'
prints 'inside nobody can' 'done'
nacre run 'for t in user mnt pid net ipc uts cgroup time; do nsenter -t 1 --$t true 2>/dev/null && echo "GOT $t"; nsenter --$t=/proc/self/ns/$t true 2>/dev/null && [ $t != user ] && echo "GOT own $t"; done; for f in U m p n i u C T; do unshare -$f true 2>/dev/null && echo "GOT $f"; unshare -r$f true 2>/dev/null && echo "GOT r$f"; done; bwrap --dev-bind / / true 2>/dev/null && echo GOT bwrap; id -u; echo done'
prints 'nor by the programs' $'1000\ndone'
# What is asked for politely works all the same: threads and processes.
nacre run 'python3 -c "
import threading, subprocess
t = threading.Thread(target=lambda: None); t.start(); t.join()
print(subprocess.run([\"true\"]).returncode)"'
prints 'control: threads and processes can be made' 0

done_testing

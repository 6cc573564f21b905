#!/usr/bin/env bash
# P2: in a workspace that the policy makes read-only nothing is written, by any call.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"

mkdir -p ws/sub
cp "$TOOLS/attack_files" ws/
printf 'workspace: ro\n' > "$scratch/policy"
echo original > ws/file
echo original > ws/sub/file
state() { find ws -printf '%p %i %s %m %U %T@ %n\n' | sort; cat ws/file ws/sub/file; }
before=$(state)
nacre run -w ws --config "$scratch/policy" 'cat file'
prints 'control: it is read' original
nacre run -w ws --config "$scratch/policy" './attack_files write-ways file spare; ./attack_files write-ways sub/file sub/spare; echo harm > new; mkdir dir; ln -s x link; ln file hard; mkfifo pipe; chmod 777 . file sub; mv sub bus; rm -rf sub file; touch file sub; python3 -c "import socket; socket.socket(socket.AF_UNIX).bind(\"s\")"; true'
is 'inside nothing changes it' "$(state)" "$before"
nacre run -w ws --config "$scratch/policy" 'mount -o remount,rw . ; umount .; for flags in -m -Urm; do unshare $flags bash -c "mount -o remount,rw,bind .; echo harm > new"; done; cd /proc/self/cwd; echo harm > new; true'
is 'nor after a remount' "$(state)" "$before"
nacre run -w ws --config "$scratch/policy" 'echo x > /tmp/x; echo y > ~/y; cat /tmp/x ~/y'
prints 'control: the private places can be written' $'x\ny'
nacre run -w ws './attack_files write-ways file spare'
like 'control: without that policy it works' "$out" '*GOT a plain write*'

done_testing

#!/usr/bin/env bash
# P3: no file of the workspace or the home is read by the shell at its start, also where bash takes
# its input for a network connection.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"

mkdir ws
for name in .bashrc .bash_profile .profile .bash_login .bash_logout .shrc .kshrc .inputrc .pythonrc; do echo 'echo GOT "$0"; touch harm' > "ws/$name"; done
export HOME=$PWD/ws
cat > "$scratch/caller.py" << 'P'
import socket, subprocess, sys
a, b = socket.socketpair()
done = subprocess.Popen(sys.argv[1:], stdin=b, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
b.close()
a.shutdown(socket.SHUT_WR)
sys.stdout.buffer.write(done.communicate()[0])
P
like 'control: on the host a login shell reads them' "$(bash -lc true; rm -f ws/harm harm)" '*GOT*'
# The home itself as the workspace: it warns, and reads none of them.
nacre run -w ws 'echo run; sh -c :; bash -c :'
is 'as the home: none is read' "$out" run
out=$(python3 "$scratch/caller.py" "$NACRE" run -w ws 'echo run')
unlike 'with a socket as input: none is read' "$out" '*GOT*'
out=$(env -u SHLVL SSH_CLIENT='1 2 3' SSH2_CLIENT=x python3 "$scratch/caller.py" "$NACRE" run -w ws 'echo run')
unlike 'nor as if it came by ssh' "$out" '*GOT*'
like 'control: it ran' "$out" '*run*'
HOME=/nowhere nacre run -w ws 'echo run'
is 'nor as a plain directory' "$out" run
refute 'none of them ran' test -e ws/harm

done_testing

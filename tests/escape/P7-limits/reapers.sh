#!/usr/bin/env bash
# P7: who takes in the orphans of others, in a session of its own, stopped, deaf to every signal or half dead, ends with the run.

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"

tag=$(unique)
cat > reaper.py << 'END'
import ctypes, os, signal, sys, time
PR_SET_CHILD_SUBREAPER, PR_SET_PDEATHSIG = 36, 1
libc = ctypes.CDLL(None, use_errno=True)
tag = sys.argv[1]
if os.fork():
    time.sleep(0.5)
    print("over", flush=True)
    os._exit(0)
os.setsid()
libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
libc.prctl(PR_SET_PDEATHSIG, 0, 0, 0, 0)
for number in range(1, 65):
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        pass
if os.fork() == 0:
    if os.fork() == 0:  # an orphan that is stopped
        os.setsid()
        os.kill(os.getpid(), signal.SIGSTOP)
        os.execv("/bin/sleep", ["sleep", tag])
    os._exit(0)
if os.fork() == 0:  # a zombie whose thread group lives on
    os._exit(0)
if os.fork() == 0:
    os.execv("/bin/sleep", ["sleep", tag])
os.execv("/bin/sleep", ["sleep", tag])
END
nacre run "python3 reaper.py $tag"
exits 'it ends with its program' 0
is 'and says what it has to' "$out" over
like 'those who were left are counted' "$err" '*still running when the command ended*killed*'
is_gone 'nobody is left' "$tag"
is_gone 'nor one that was stopped' "reaper.py $tag"
nacre run --timeout 1s "python3 reaper.py $tag & sleep 30"
exits 'the same at the time limit' 124
is_gone 'nobody is left' "$tag"
done_testing

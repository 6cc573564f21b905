#!/usr/bin/env bash
# Runs alone.
# P7: children that are traced, wait in vfork, or have been given other parents end with the run all
# the same.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"

tag=$(unique)
cat > traced.py << P
import ctypes, os, signal, sys, time
libc = ctypes.CDLL(None)
how = sys.argv[1]
pid = os.fork()
if pid == 0:
    if how == "traced":
        libc.ptrace(0, 0, 0, 0)
    if how == "subreaper":
        libc.prctl(36, 1)
        if os.fork() == 0:
            os.setsid()
    if how == "deathsig":
        libc.prctl(1, signal.SIGCONT)
    os.execv("/bin/sleep", ["sleep", "$tag"])
if how == "traced":
    os.waitpid(pid, 0)
    libc.ptrace(0x4200, pid, 0, 0x1f)
print("up", flush=True)
if len(sys.argv) > 2:
    time.sleep(600)
P
for how in subreaper deathsig; do
    nacre run --timeout 20s "python3 traced.py $how"
    like "$how: control: it was up" "$out" '*up*'
    is_gone "$how: gone with the command" "sleep $tag"
    nacre run --timeout 1s "python3 traced.py $how stay"
    exits "$how: ended by the time limit" 124
    is_gone "$how: gone with the time" "sleep $tag"
done
# The parent waits within vfork for a child that never executes anything.
cat > hang.c << 'C'
#include <unistd.h>
int main(void)
{
    if (vfork() == 0)
        for (;;)
            pause();
    return 0;
}
C
cc -o hang-me hang.c
cp hang-me "hang-$tag"
nacre run --timeout 1s "./hang-$tag"
exits 'vfork: ended by the time limit' 124
is_gone 'vfork: gone' "hang-$tag"

done_testing

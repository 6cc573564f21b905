#!/usr/bin/env bash
# P2: a script (S1, S2) does not reach out, cannot change its own file or what is recorded of it, and leaves nothing for the next.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"

cat > "$scratch/attack.py" << 'P'
import os, sys
me = os.path.abspath(__file__)
def attempt(name, f):
    try:
        f()
        print("GOT", name)
    except OSError:
        pass
attempt("write", lambda: open(me, "a"))
attempt("truncate", lambda: os.truncate(me, 0))
attempt("unlink", lambda: os.unlink(me))
attempt("rename", lambda: os.rename(me, me + "x"))
attempt("replace", lambda: os.symlink("/etc/passwd", me + "y"))
attempt("mode", lambda: os.chmod(me, 0o777))
attempt("times", lambda: os.utime(me))
attempt("link", lambda: os.link(me, "/tmp/linked"))
attempt("reopen", lambda: os.open("/proc/self/fd/%d" % os.open(me, os.O_RDONLY), os.O_RDWR))
attempt("neighbour", lambda: open("/etc/nacre/next", "w"))
attempt("host", lambda: open("/etc/shadow"))
open("/tmp/synth-c", "w").write("#!/bin/sh\necho planted\n")
os.chmod("/tmp/synth-c", 0o755)
print("done")
P
nacre script --json "$scratch/attack.py"
is 'nothing is had' "$(jq -r .stdout "$scratch/out")" 'done'
is 'what is told of it is what was given' "$(jq -r .script.sha256 "$scratch/out")" "$(sha256sum < "$scratch/attack.py" | cut -d' ' -f1)"
id=$(jq -r .correlation_id "$scratch/out")
"$NACRE" history --json "$id" | jq -j .script > "$scratch/recorded"
check 'so is what is recorded' cmp "$scratch/recorded" "$scratch/attack.py"
is 'the workspace has nothing of it' "$(ls -A)" ''
printf 'import os; print(os.path.exists("/tmp/synth-c"), os.listdir("/etc/nacre"))\n' > "$scratch/look.py"
nacre script "$scratch/look.py"
like 'nor has the next one' "$out" "False*'synth-python.py'*"
nacre run 'ls /etc/nacre 2>/dev/null | grep synth'
is 'nor a command' "$out" ''
printf 'int main(void) { return 42; }\n' > "$scratch/own.c"
nacre script "$scratch/own.c"
exits 'what is built is built anew' 42
# Names that others may have made on the host mean nothing.
ln -s "$scratch/victim" /tmp/synth-c 2> /dev/null
nacre script "$scratch/own.c"
exits 'a link of the host at the same name is not seen' 42
refute 'and not followed' test -e "$scratch/victim"
rm -f /tmp/synth-c

done_testing

#!/usr/bin/env bash
# P4: locks on files of the workspace are those of a layer: no run keeps a host program out, nor another run.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"

cat > hold.py << 'END'
import fcntl, os, time
own = [open("locked", mode) for mode in ("r", "r+")]
fcntl.flock(own[0], fcntl.LOCK_EX | fcntl.LOCK_NB)
fcntl.lockf(own[1], fcntl.LOCK_EX | fcntl.LOCK_NB)
fcntl.flock(os.open(".", os.O_RDONLY), fcntl.LOCK_EX | fcntl.LOCK_NB)
print("held", flush=True)
time.sleep(3)
END
cat > try.py << 'END'
import fcntl, os
with open("locked", "r+") as f:
    fcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB)
    fcntl.lockf(f, fcntl.LOCK_EX | fcntl.LOCK_NB)
fcntl.flock(os.open(".", os.O_RDONLY), fcntl.LOCK_EX | fcntl.LOCK_NB)
print("free")
END
echo content > locked
"$NACRE" run 'python3 hold.py' > "$scratch/held" 2>&1 &
holder=$!
check 'control: a run holds locks' wait_until 5 grep -q held "$scratch/held"
is 'a program of the host gets them' "$(python3 try.py 2>&1 | tail -1)" free
nacre run 'python3 try.py'
prints 'and so does another run' free
wait "$holder"
done_testing

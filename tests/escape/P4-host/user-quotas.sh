#!/usr/bin/env bash
# P4: what the kernel gives each user a number of (watchers of files, timers, queued signals) is not used up by the
# inside, which is the same user to it: programs outside still get theirs.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"

cat > take.py << 'END'
import ctypes, os, signal, sys, time
libc = ctypes.CDLL(None, use_errno=True)
taken = {"inotify": 0, "timers": 0}
for _ in range(4):
    if os.fork() == 0:
        break
while libc.inotify_init1(0) >= 0:
    taken["inotify"] += 1
timer = ctypes.c_void_p()
while libc.timer_create(1, None, ctypes.byref(timer)) == 0 and taken["timers"] < 200000:
    taken["timers"] += 1
print(taken["inotify"], taken["timers"], flush=True)
time.sleep(20)
END
cat > want.py << 'END'
import ctypes
libc = ctypes.CDLL(None)
timer = ctypes.c_void_p()
print("watcher" if libc.inotify_init1(0) >= 0 else "none", "timer" if libc.timer_create(1, None, ctypes.byref(timer)) == 0 else "none")
END
is 'control: there is some to be had' "$(python3 want.py)" 'watcher timer'
"$NACRE" run --timeout 15s --limit files=4096 --limit processes=10 'exec /usr/bin/python3 take.py' > "$scratch/taken" 2>&1 &
run=$!
for _ in {1..100}; do
    if [ "$(wc -l < "$scratch/taken")" -ge 4 ]; then break; fi
    sleep 0.1
done
is 'while the inside has taken all that it gets, the user has more' "$(python3 want.py)" 'watcher timer'
like 'control: it took some' "$(awk '{ watchers += $1; timers += $2 } END { print watchers, timers }' "$scratch/taken")" '[1-9]* [1-9]*'
kill "$run"
wait "$run" 2> /dev/null
done_testing

#!/usr/bin/env bash
# P9: a process outside that swaps directories for links while a run is committed, undone and redone leads nothing out.
# shellcheck disable=SC2016,SC2317 # texts for the inside; functions that are called by traps

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"
base=$PWD
mkdir ws store
export XDG_STATE_HOME=$base/store
trap 'chmod -R u+rwx "$base" 2> /dev/null; rm -rf "$scratch"' EXIT

mkdir "$scratch/victim" ws/d
for i in 1 2 3 4 5; do
    echo kept > "$scratch/victim/f$i"
    echo x > "ws/d/f$i"
done
mkdir "$scratch/victim/sub" ws/d/sub
before=$(cd "$scratch/victim" && stat -c '%n %i %Z %a' . ./* && cat f*)
# d is now a directory, now a link to the victim, as fast as can be.
cat > "$scratch/swap.py" << 'P'
import ctypes, os, sys
libc = ctypes.CDLL(None)
os.symlink(sys.argv[1], "ws/link")
while os.path.exists("swapping"):
    libc.renameat2(-100, b"ws/link", -100, b"ws/d", 2)
P
touch swapping
/usr/bin/python3 "$scratch/swap.py" "$scratch/victim" &
swapper=$!
tried=0 done=0
for i in $(seq $((12 * SOAK))); do
    nacre run -w ws --json "for i in 1 2 3 4 5; do echo $i > d/f\$i; done; echo new > d/new$i; rm -f d/f1; mkdir d/sub/$i; chmod 700 d/sub; true"
    tried=$((tried + 1))
    id=$(jq -r .correlation_id "$scratch/out")
    if [ "$(jq -r .status "$scratch/out")" = ok ]; then
        done=$((done + 1))
        "$NACRE" undo "$id" > /dev/null 2>&1
        "$NACRE" redo "$id" > /dev/null 2>&1
    fi
done
rm swapping
wait $swapper
is "the place it leads to is not changed ($done of $tried runs went through)" \
    "$(cd "$scratch/victim" && stat -c '%n %i %Z %a' . ./* && cat f*)" "$before"
nacre run -w ws true
exits 'the next run works' 0
is 'nothing is pending' "$(find store/nacre/store/*/pending -mindepth 1 | wc -l)" 0

done_testing

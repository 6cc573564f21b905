#!/usr/bin/env bash
# P3, L4: what the caller has in its environment and on its command line is not in the memory of
# process 1, nor in that of any other process inside.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"

secret="secret$(unique)"
export CALLER_TOKEN=$secret
cat > look.py << 'P'
import ctypes, os, re, sys
words = [w.encode() for w in sys.argv[1].split("+")]
needle = b"".join(words)
found = 0
for p in [d for d in os.listdir("/proc") if d.isdigit()]:
    for name in ("environ", "cmdline", "auxv", "stat", "status", "comm", "wchan", "limits", "cgroup", "mountinfo"):
        try:
            data = open(f"/proc/{p}/{name}", "rb").read()
        except OSError:
            continue
        if needle in data and name != "cmdline":
            print("GOT", p, name)
    try:
        maps = open(f"/proc/{p}/maps").read().splitlines()
        mem = open(f"/proc/{p}/mem", "rb", 0)
    except OSError:
        continue
    found += 1
    if int(p) == os.getpid():
        continue
    for line in maps:
        a, b = (int(x, 16) for x in line.split()[0].split("-"))
        if " r" not in line or b - a > 64 << 20:
            continue
        try:
            mem.seek(a)
            if needle in mem.read(b - a):
                print("GOT the memory of", p, line)
        except (OSError, OverflowError, ValueError):
            pass
print("looked at", found)
P
# The word is given in two parts, so that nobody inside has it whole by having been asked.
half=${secret:0:9}+${secret:9}
like 'control: outside it is found' "$(python3 look.py "$half" 2>&1 | head -3)" '*GOT*'
nacre run "python3 look.py '$half'"
unlike 'inside it is nowhere' "$out" '*GOT*'
like 'control: some processes could be read' "$out" '*looked at [1-9]*'
"$NACRE" run --json "python3 look.py '$half'" > "$scratch/out"
unlike 'nor with a result for programs' "$(jq -r .stdout "$scratch/out")" '*GOT*'
nacre run 'tr "\0" " " < /proc/1/cmdline; echo; tr "\0" "\n" < /proc/1/environ 2>/dev/null; cat /proc/1/comm'
unlike 'process 1 tells nothing of the caller' "$out" "*$secret*"

done_testing

#!/usr/bin/env bash
# P4: no call that takes the number of a process acts on one of the host's, or tells of it; no
# signal is sent there by the kernel on the inside's behalf.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"

cp "$TOOLS/attack_kernel" .
cat > "$scratch/victim.py" << P
import signal, sys, time
def note(number, frame):
    open("$scratch/hit", "a").write(f"{number}\n")
for number in range(1, 65):
    try:
        signal.signal(number, note)
    except (OSError, ValueError):
        pass
open("$scratch/up", "w").write("up")
while True:
    time.sleep(1)
P
python3 "$scratch/victim.py" &
victim=$!
wait_until 10 test -s "$scratch/up"
: > "$scratch/hit"
like 'control: on the host the calls reach it' "$("$TOOLS/attack_kernel" reach "$victim")" '*GOT*GOT*'
check 'control: and signals do' wait_until 5 test -s "$scratch/hit"
sleep 0.5
: > "$scratch/hit"
policy=$(chrt -p "$victim" | sed 's/.*: //') nice=$(ps -o ni= -p "$victim")
# Numbers that nobody has inside; what is there by chance would be its own.
nacre run "./attack_kernel reach $victim $$ $PPID"
unlike 'from inside none does' "$out" '*GOT*'
like 'control: it tried' "$out" '*done'
nacre run "for p in \$(seq 100 40 2000) $victim; do kill -0 \$p && echo GOT; kill -USR1 -- -\$p && echo GOT; done 2>/dev/null; kill -USR1 -1; killall5 2>/dev/null; skill -USR1 python3 2>/dev/null; echo done"
unlike 'nor does any number' "$out" '*GOT*'
sleep 0.2
is 'no signal arrived' "$(cat "$scratch/hit")" ''
is 'its priority is what it was' "$(chrt -p "$victim" | sed 's/.*: //') $(ps -o ni= -p "$victim")" "$policy $nice"
kill -KILL "$victim"
wait "$victim" 2> /dev/null

done_testing

#!/usr/bin/env bash
# Runs alone.
# P4: SysV objects, POSIX queues and shared memory of the host are out of reach.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"

cp "$TOOLS/attack" .
key=$((RANDOM * 32768 + RANDOM + 1))
mkfifo "$scratch/hold"
"$TOOLS/attack" ipc-hold "$key" "$scratch/ready" < "$scratch/hold" > "$scratch/held" 2>&1 &
pid=$!
exec 9> "$scratch/hold"
if ! wait_until 5 test -s "$scratch/ready"; then
    not_ok 'control: objects can be made' "$(cat "$scratch/held")"
else
    like 'control: outside they are found' "$(ipcs -m)" "*$(printf '0x%08x' "$key")*"
    nacre run "./attack ipc-look $key; ipcs -a | grep -c '^0x'"
    is 'inside they are not' "$out" $'done\n0'
fi
exec 9>&-
wait "$pid"
is 'and were not touched' "$(head -1 "$scratch/held")" untouched
file=/dev/shm/nacre-test-$(unique)
echo secret > "$file"
nacre run "cat $file; echo harm > $file; ls /dev/shm"
is 'shared memory by name is another' "$out" "${file##*/}"
is_file 'the host'"'"'s is what it was' "$file" $'secret\n'
rm -f "$file"
nacre run 'ls -A /dev/mqueue; ls -d /dev/hugepages 2>/dev/null; echo done'
prints 'no other place of the kind' 'done'

done_testing

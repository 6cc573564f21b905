#!/usr/bin/env bash
# Runs alone.
# P7: a process that opens without end is told that it has enough; the host keeps its own.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"
# shellcheck source=tests/escape/bomb.sh
. "$(dirname "$0")/../bomb.sh"

cp "$TOOLS/attack_bomb" .
before=$(cut -f1 /proc/sys/fs/file-nr)
bomb --limit files=50 './attack_bomb files 5000'
made=${out#made }
check "control: some can be opened ($made)" test "${made:-0}" -ge 20
check 'no more than may be' test "${made:-0}" -le 50
bomb --limit files=50 'ulimit -n 100000 2>/dev/null && echo GOT; ulimit -Hn 100000 2>/dev/null && echo GOT; prlimit --pid $$ --nofile=100000 2>/dev/null && echo GOT; python3 -c "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (9999, 9999))" 2>/dev/null && echo GOT; ./attack_bomb files 5000'
unlike 'the limit cannot be raised' "$out" '*GOT*'
check 'nor is there more after trying' test "$(sed -n 's/^made //p' <<< "$out")" -le 50
bomb --limit files=50 --limit processes=20 'for i in {1..10}; do ./attack_bomb files 5000 & done; wait; echo all'
like 'many processes: each has its own' "$out" '*made*all'
unharmed 'opening'
check "the host's count is what it was, or near" test "$(cut -f1 /proc/sys/fs/file-nr)" -lt $((before + 2000))

done_testing

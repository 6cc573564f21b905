#!/usr/bin/env bash
# P4, P7, L4: process 1 inside can be neither killed, stopped, traced nor read by those it reaps.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"

cp "$TOOLS/attack" .
nacre run 'kill -9 1; kill -TERM 1; kill -STOP 1; kill -CONT 1; ./attack signal 1; echo alive; exit 6'
exits 'signals to process 1 do nothing' 6
like 'and the run goes on' "$out" '*alive'
start=$SECONDS
nacre run --timeout 60s 'kill -STOP 1; sleep 0.2; sleep 1000 & exit 3'
exits 'SIGSTOP does not keep it from ending' 3
check 'nor from ending soon' test $((SECONDS - start)) -lt 20
nacre run './attack trace 1; head -c 1 /proc/1/mem; cat /proc/1/syscall /proc/1/stack; gdb -p 1 -batch 2>/dev/null; echo done'
is 'its memory is closed (L4)' "$out" $'done\ndone'
# The signal with which the guard ends everything, plain and with a forged sender.
cat > forge.py << 'P'
import ctypes, os, platform, signal, struct
try:
    os.kill(1, signal.SIGTERM)
except PermissionError:
    pass
number = {"x86_64": 129, "aarch64": 138}[platform.machine()]
for code in (-1, -6, 0, 128):
    info = struct.pack("iiiiii", signal.SIGTERM, 0, code, 0, 0, 0).ljust(128, b"\0")
    ctypes.CDLL(None).syscall(number, 1, signal.SIGTERM, info)
P
nacre run 'python3 forge.py; sleep 0.3; echo alive'
prints 'nobody inside can speak for the guard' alive
# Process 1 reaps: orphans do not pile up.
nacre run --limit processes=100 'for i in $(seq 50); do (sleep 0.05 & ); done; sleep 1; ps -eo stat= | grep -c Z'
is 'orphans are reaped' "$out" 0
nacre run 'grep -E "^(Cap(Inh|Prm|Eff|Bnd|Amb)|NoNewPrivs)" /proc/1/status | tr -s "\t" " "'
is 'it has no capability (L4)' "$out" $'CapInh: 0000000000000000\nCapPrm: 0000000000000000\nCapEff: 0000000000000000\nCapBnd: 0000000000000000\nCapAmb: 0000000000000000\nNoNewPrivs: 1'

done_testing

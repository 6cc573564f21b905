#!/usr/bin/env bash
# A long session over JSON-RPC, in memory and in a directory: no descriptor and no memory is lost on the way.
#
# CALLS is how many; 300 times $SOAK unless it is set.

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

calls=${CALLS:-$((300 * SOAK))}
mkdir work
cat > "$scratch/drive.py" << 'PY'
import json, os, subprocess, sys

nacre, workspace, calls = sys.argv[1], sys.argv[2], int(sys.argv[3])
server = subprocess.Popen([nacre, 'serve', '--rpc', '--workspace', workspace],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def call(number, method, **params):
    message = {'jsonrpc': '2.0', 'id': number, 'method': method, 'params': params}
    server.stdin.write(json.dumps(message).encode() + b'\n')
    server.stdin.flush()
    answer = json.loads(server.stdout.readline())
    assert answer['id'] == number, answer
    return answer


def state():
    status = open(f'/proc/{server.pid}/status').read()
    kilobytes = int(status.split('VmRSS:')[1].split()[0])
    return kilobytes, len(os.listdir(f'/proc/{server.pid}/fd'))


texts = ['echo hi > f; cat f', 'cat f', 'rm nothing', 'echo "', 'cat nothing']
settled = None
for i in range(calls):
    if i % 50 == 49:
        answer = call(i, 'configure', allow=['cat', 'echo', f'x{i}'])
    elif i % 50 == 48:
        answer = call(i, 'history', limit=3)
    elif i % 97 == 96:
        answer = call(i, 'reset')
    else:
        answer = call(i, 'exec', command=texts[i % len(texts)])
    assert 'result' in answer, answer
    if i == calls // 3:
        settled = state()
last = state()
server.stdin.close()
assert server.wait() == 0
print(settled[0], last[0], settled[1], last[1])
PY
for workspace in :memory: work; do
    said=$(python3 "$scratch/drive.py" "$JUDGE" "$workspace" "$calls" 2> "$scratch/err") || not_ok "$workspace: every call is answered" "$(tail -3 "$scratch/err")"
    read -r kb_before kb_after fds_before fds_after <<< "$said"
    echo "# $workspace: $calls calls, memory $kb_before kB and $kb_after kB, descriptors $fds_before and $fds_after"
    # Sandboxes that wait are made and taken meanwhile: a few descriptors come and go.
    check "$workspace: no descriptor is lost" test "$fds_after" -le $((fds_before + 24))
    check "$workspace: nor memory" test "$kb_after" -le $((kb_before + 4096))
done
check 'the ledger verifies' "$JUDGE" verify
done_testing

#!/usr/bin/env bash
# A mandate of `echo` and `cat`, set through `configure`, under a policy that allows everything: by no trick of the bypass
# samples does anything else run inside, and the file that it would have touched is not there.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"

cases=$(cd "$(dirname "$0")/../../cases/policy" && pwd)
printf 'extends: full-auto\n' > "$scratch/free.yaml"
mkdir work
printf 'all install:\n\ttouch canary\n' > work/Makefile
echo 'touch canary' > work/script.sh
mkdir work/tools
for name in cat env nice bash tools/timeout; do
    printf '#!/bin/sh\n/usr/bin/touch canary\n' > "work/$name" # whatever it is given
done
cp /usr/bin/touch work/cat
chmod +x work/script.sh work/cat work/env work/nice work/bash work/tools/timeout
echo '#!/bin/sh' > work/README.md

# What would be harm there is touching the canary here.
python3 - "$cases/bypasses.tsv" > "$scratch/texts" << 'PY'
import json, re, sys
texts = []
for row in open(sys.argv[1], encoding='utf-8').read().split('\n')[1:]:
    parts = row.split('\t')
    if len(parts) >= 3:
        texts.append(re.sub(r'\\(n|t|\\)', lambda m: {'n': '\n', 't': '\t', '\\': '\\'}[m[1]], parts[1]))
texts = [t.replace('make install', 'touch canary') for t in texts]
texts += [
    './env cat canary', './nice -n 1 cat', 'tools/timeout 5 cat', './bash -c "echo x"', 'env ./env cat', '/proc/self/cwd/env cat',
    'cat() { touch canary; }; cat f', './cat canary', 'PATH=.:$PATH cat canary', 'hash -p ./cat cat; cat canary',
    'BASH_CMDS[cat]=./cat; cat canary', 'C=touch; $C canary', 'echo x; exec touch canary', '/usr/bin/touch canary',
    'cat <(touch canary)', 'echo "$(<script.sh)" | bash', 'echo touch canary | /bin/sh', 'cat script.sh | sh',
    'exec -a cat touch canary', 'command -p touch canary', 'builtin eval touch canary', '. ./script.sh', 'source script.sh',
    'echo ${x:=$(touch canary)}', 'env -S "touch canary"', 'echo | xargs touch canary', 'alias echo=touch; echo canary',
    '/lib64/ld-linux-x86-64.so.2 /usr/bin/touch canary', 'busybox touch canary', 'enable -n echo; echo canary',
    'coproc touch canary', 'trap "touch canary" EXIT', 'PROMPT_COMMAND="touch canary"; echo', ': > canary', 'printf x > canary',
    'echo x > canary2; mapfile -C "touch canary" -c 1 a < script.sh', 'BASH_ENV=script.sh bash -c true',
    'LD_PRELOAD=./x.so cat f', 'function echo { touch canary; }; echo', 'echo $(echo touch) canary | cat', '$(echo touch) canary',
    't""ouch canary', 'to\\uch canary', "$'touch' canary", '{touch,canary}', 'a=touch b=canary; ${a} ${b}', '"${@:-touch}" canary',
]
for i, text in enumerate(texts):
    print(json.dumps({'jsonrpc': '2.0', 'id': i, 'method': 'exec', 'params': {'command': text, 'timeout_ms': 3000}}))
PY
run() { # MANDATE-PARAMS OPTION…
    local mandate=$1
    shift
    {
        printf '{"jsonrpc":"2.0","id":"m","method":"configure","params":%s}\n' "$mandate"
        cat "$scratch/texts"
    } | "$JUDGE" serve --rpc --config "$scratch/free.yaml" "$@" > "$scratch/said" 2> "$scratch/err"
}
# Programs that were started and not stopped at once: the warnings name those that were.
others() {
    jq -c 'select(.result.executed) | .result as $r
        | ($r.warnings | map(capture("^\u0027(?<n>.*)\u0027 was stopped before it began")?.n)) as $stopped
        | $r.executed[] | .argv[0] | split("/")[-1] | select(IN("bash", "echo", "cat") | not)
        | select(. as $p | $stopped | any(split("/")[-1] == $p) | not)' "$scratch/said"
}

run '{"allow":["echo","cat"],"final":true}' --workspace work
count=$(wc -l < "$scratch/texts")
is "all $count texts are answered" "$(grep -c '"id":[0-9]' "$scratch/said")" "$count"
is 'no program but bash for the text itself, echo and cat' "$(others | sort | uniq -c)" ''
refute 'the canary is untouched' test -e work/canary
is 'every text that would touch it is denied' \
    "$(jq -r 'select(.result.command // "" | test("touch canary")) | select(.result.status == "ok" and (.result.executed | length > 1)) | .result.command' "$scratch/said" |
        grep -v '^echo\|^cat\|#' | head -3)" ''
check 'control: many were' test "$(jq -r 'select(.result.decision == "deny") | .id' "$scratch/said" | wc -l)" -gt 300
check 'control: and some ran' test "$(jq -r 'select(.result.status == "ok") | .id' "$scratch/said" | wc -l)" -gt 5
is 'every answer has the mandate and the hash' "$(jq -r 'select(.result) | [.result.mandate_hash, (.result.fs_hash // "" | length)] | @tsv' "$scratch/said" | grep -v '"m"' | cut -f1 | sort -u | wc -l)" 1

# The same where the program is only below one that is allowed: the verdict at exec.
rm -f work/canary
{
    echo '{"jsonrpc":"2.0","id":1,"method":"configure","params":{"allow":["make","sh","bash","cat"]}}'
    echo '{"jsonrpc":"2.0","id":2,"method":"exec","params":{"command":"make; bash script.sh; ./script.sh; sh -c '\''touch canary'\''; cat README.md"}}'
} | "$JUDGE" serve --rpc --config "$scratch/free.yaml" --workspace work > "$scratch/said"
refute 'below what is allowed nothing else runs either' test -e work/canary
# A server's own --allow and the mandate are both kept to.
{
    echo '{"jsonrpc":"2.0","id":1,"method":"configure","params":{"allow":["touch","echo"]}}'
    echo '{"jsonrpc":"2.0","id":2,"method":"exec","params":{"command":"touch canary"}}'
    echo '{"jsonrpc":"2.0","id":3,"method":"exec","params":{"command":"cat README.md"}}'
    echo '{"jsonrpc":"2.0","id":4,"method":"exec","params":{"command":"echo both"}}'
    echo '{"jsonrpc":"2.0","id":5,"method":"configure","params":{"allow":[]}}'
    echo '{"jsonrpc":"2.0","id":6,"method":"exec","params":{"command":"echo both"}}'
} | "$JUDGE" serve --rpc --config "$scratch/free.yaml" --workspace work --allow echo --allow cat > "$scratch/said"
is 'of two lists only what is on both runs, of an empty one nothing' "$(jq -r '.result.decision // "-"' "$scratch/said" | tr '\n' ' ')" '- deny deny allow - deny '
refute 'the canary is untouched still' test -e work/canary
check 'the ledger verifies' "$JUDGE" verify
done_testing

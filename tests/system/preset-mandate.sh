#!/usr/bin/env bash
# The preset mandate, feature by feature: files in memory, hashes, a mandate by verdict and by exec, decisions, the ledger.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
NACRE=$JUDGE
export XDG_CONFIG_HOME=$scratch/config
mkdir -p "$scratch/config/nacre"
echo 'extends: mandate' > "$scratch/config/nacre/config.yaml"
value() { jq -r "$1" "$scratch/out"; }
ask() { # METHOD [PARAMS]
    n=$((n + 1))
    printf '{"jsonrpc":"2.0","id":%d,"method":"%s","params":%s}\n' "$n" "$1" "${2:-{\}}"
}
n=0
said() { jq -c "objects | select(.id == $1) | $2" "$scratch/said"; }
serve() { "$JUDGE" serve --rpc --workspace :memory: 2> "$scratch/err" > "$scratch/said"; }

# Without a mandate: files persist between calls, and nothing of the host is there.
{
    ask exec '{"command":"echo one > f; mkdir d"}'
    ask exec '{"command":"cat f; ls -d d"}'
    ask exec "{\"command\":\"cat $PWD/outside\"}"
    ask exec '{"command":"chmod 700 d; cat /proc/net/dev | wc -l"}'
} > "$scratch/asked"
echo outside > outside
n=0
serve < "$scratch/asked"
is 'files persist' "$(said 2 .result.stdout)" '"one\nd\n"'
is 'the decision has the word of the preset' "$(said 1 .result.decision)" '"accept"'
unlike 'no file of the host' "$(said 3 .result.stdout)" '*outside*'
like 'every exec has an fs_hash' "$(said 1 .result.fs_hash)" '"????????????????????????????????????????????????????????????????"'
is 'which changes with the files' "$(jq -s '[.[].result.fs_hash] | unique | length > 1' "$scratch/said")" true
hashes=$(jq -c '[.result.fs_hash, .result.mandate_hash]' "$scratch/said")
serve < "$scratch/asked"
is 'a fresh session gives the same hashes' "$(jq -c '[.result.fs_hash, .result.mandate_hash]' "$scratch/said")" "$hashes"

# With one: decision, reasons, commands_used, mandate_hash; denied and dynamic names fail closed.
n=0
{
    ask configure '{"allow":["echo","cat"]}'
    ask exec '{"command":"echo kept > f"}'
    ask exec '{"command":"rm f"}'
    ask exec '{"command":"CMD=rm; $CMD f"}'
    ask exec '{"command":"echo $(cat nothing | rm f)"}'
    ask exec '{"command":"cat f"}'
} > "$scratch/asked"
serve < "$scratch/asked"
is 'accepted' "$(said 2 '[.result.decision, .result.commands_used]')" '["accept",["echo"]]'
is 'rejected' "$(said 3 '[.result.decision, .result.commands_used]')" '["reject",["rm"]]'
is 'with a reason' "$(said 3 '.result.reasons | length > 0')" true
is 'a name that is not known' "$(said 4 .result.decision)" '"reject"'
is 'deep inside' "$(said 5 .result.decision)" '"reject"'
is 'the file is untouched' "$(said 6 .result.stdout)" '"kept\n"'
is 'one mandate, one hash' "$(jq -s '[.[1:][].result.mandate_hash] | unique | length' "$scratch/said")" 1
mandate=$(said 1 .result.mandate_hash)

# The same for one call of the program; what is not on the list cannot be executed by any program, either.
nacre run --json --allow python3 'python3 -c "import subprocess; subprocess.run([\"touch\", \"made\"])"'
refute 'a program that starts another' [ -e made ]
like 'is stopped' "$(value '.warnings | join(" ")')" "*touch' was stopped before it began*"
nacre test --allow echo 'touch made'
exits 'and by verdict' 1

# The ledger has them in order, and is whole.
nacre history --json
check 'recorded' [ "$(jq -s 'flatten | length' "$scratch/out")" -ge 10 ]
check 'the chain holds' "$JUDGE" verify
nacre history --json --text 'rm f'
id=$(value '.[0].correlation_id')
nacre history --json "$id"
is 'with verdict and mandate' "$(value '[.result.entry.verdict, .result.entry.mandate_hash] | @json')" "[\"deny\",$mandate]"

# Three words: a judge accepts, rejects, or leaves it to a person, who is asked then; nobody there is never a yes.
for word in accept reject escalate; do
    printf '#!/bin/sh\ncat > /dev/null\ncat << J\n{"decision": "%s", "reason": "r"}\nJ\n' $word > "$scratch/judge-$word"
    chmod 755 "$scratch/judge-$word"
    printf 'extends: mandate\nshell: {confirm: [ls]}\napprovals: {judge: [%s]}\n' "$scratch/judge-$word" > "$scratch/$word.yaml"
    nacre run --json --config "$scratch/$word.yaml" ls
    case $word in accept) wanted=ok ;; reject) wanted=denied ;; *) wanted=needs_confirmation ;; esac
    is "a judge that says $word" "$(value .status)" $wanted
done
printf 'extends: mandate\nshell: {confirm: [ls]}\napprovals: {judge: [%s]}\n' "$scratch/judge-nowhere" > "$scratch/nowhere.yaml"
nacre run --json --config "$scratch/nowhere.yaml" ls
is 'one that cannot be reached is never a yes' "$(value .status)" needs_confirmation
nacre escalations --json
check 'escalations can be exported' [ -s "$scratch/out" ]
done_testing

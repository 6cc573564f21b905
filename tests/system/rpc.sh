#!/usr/bin/env bash
# `nacre serve --rpc`: methods, mandates, the protocol, sessions that give the same hashes, and an end that leaves nothing.
# shellcheck disable=SC2016,SC2317 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

mkdir work
serve() { "$JUDGE" serve --rpc "$@" 2> "$scratch/err"; }
ask() { # METHOD [PARAMS]: one message; the id is counted
    n=$((n + 1))
    printf '{"jsonrpc":"2.0","id":%d,"method":"%s","params":%s}\n' "$n" "$1" "${2:-{\}}"
}
n=0
said() { # ID FILTER: of the answers in $scratch/said
    jq -c "objects | select(.id == $1) | $2" "$scratch/said"
}

# --- methods, in memory -----------------------------------------------------------------------------------------

{
    ask ping
    ask configure '{"allow":["echo","cat"]}'
    ask exec '{"command":"echo hi > f; cat f"}'
    ask exec '{"command":"touch x"}'
    ask exec '{"command":"cat","stdin":"in"}'
    ask fs_hash
    ask history '{"limit":2}'
    ask test '{"command":"C=$(cat f); $C"}'
    ask reset
    ask exec '{"command":"cat f"}'
    ask configure
    ask exec '{"command":"touch x","cwd":null}'
    ask configure '{"allow":["cat","echo","cat"]}'
    ask undo '{"id":"12345678"}'
    ask verify
    ask exec '{"command":"echo $(< f) > g; > h"}'
} | serve --workspace :memory: > "$scratch/said"
is 'every message is answered, in order' "$(jq -c .id "$scratch/said" | tr '\n' ' ')" "$(seq -s' ' 1 16) "
is 'ping' "$(said 1 .result.status)" '"ok"'
mandate=$(said 2 .result.mandate_hash)
is 'a session'\''s files stay' "$(said 3 '[.result.status, .result.stdout, .result.decision, .result.commands_used]')" '["ok","hi\n","allow",["echo","cat"]]'
is 'what is not in the mandate is denied' "$(said 4 '[.result.status, .result.decision, .result.reasons[0].rule]')" '["denied","deny","mandate"]'
is 'and nothing changed' "$(said 4 .result.fs_hash)" "$(said 3 .result.fs_hash)"
is 'standard input' "$(said 5 .result.stdout)" '"in"'
is 'fs_hash is that of the last run' "$(said 6 .result.fs_hash)" "$(said 5 .result.fs_hash_after)"
is 'each run has the mandate_hash' "$(said 3 .result.mandate_hash) $(said 4 .result.mandate_hash)" "$mandate $mandate"
is 'the history of the session' "$(said 7 '[.result.more, (.result.runs | length)]')" '[true,2]'
is 'a name that is not known is refused' "$(said 8 '[.result.decision, .result.commands_used]')" '["deny",["cat",null]]'
is 'reset: the workspace is empty, and a fresh one'\''s hash' "$(said 9 .result.fs_hash) $(said 10 .result.exit_code)" "$(said 3 .result.fs_hash_before) 1"
is 'without a mandate the policy asks' "$(said 12 .result.decision)" '"confirm"'
is 'equal mandates have equal hashes' "$(said 13 .result.mandate_hash)" "$mandate"
unlike 'and others another' "$(said 11 .result.mandate_hash)" "$mandate"
like 'undo in memory says what there is instead' "$(said 14 .error.message)" '*`reset`*'
is 'verify' "$(said 15 .result.good)" true
is 'redirections alone are no commands' "$(said 16 '[.result.decision, .result.commands_used]')" '["allow",["echo"]]'

# --- methods, in a directory ------------------------------------------------------------------------------------

cat > "$scratch/free.yaml" << 'YAML'
extends: full-auto
YAML
n=0
echo old > work/kept
{
    ask exec '{"command":"echo one > a; rm kept"}'
    ask exec '{"command":"echo two >> a; pwd","cwd":"."}'
    ask configure '{"limits":{"memory":"1TB"}}'
    ask configure '{"network":"on"}'
    ask configure '{"limits":{"memory":"64MB","processes":4},"timeout_ms":2000,"network":"off","deny":["pwd"],"final":true}'
    ask exec '{"command":"sleep 30","timeout_ms":30000}'
    ask exec '{"command":"pwd"}'
    ask configure '{}'
    ask exec '{"command":"echo three > c","stage":true}'
    ask reset
    ask fs_hash
} | serve --workspace work --config "$scratch/free.yaml" > "$scratch/said"
like 'limits cannot be widened' "$(said 3 .error)" '*-32602*limits*widens*"parameter":"limits"*'
like 'nor the network' "$(said 4 .error)" '*-32602*network*'
is 'but tightened' "$(said 5 .result.mandate.limits)" '["memory=64MB","processes=4","timeout_max=2000ms"]'
is 'the time limit is that of the mandate' "$(said 6 .result.status)" '"timeout"'
is 'deny is of the mandate, too' "$(said 7 '[.result.status, .result.policy_rule_matched]')" '["denied","deny: pwd"]'
like 'final is final' "$(said 8 .error.message)" '*final*'
is 'reset takes back what the session did' "$(said 10 .result.undone) $(cat work/kept) $(find work -type f | wc -l)" '2 old 1'
is 'to the hash of before' "$(said 11 .result.fs_hash)" "$(said 1 .result.fs_hash_before)"
is 'which is that of `nacre hash`' "$(said 11 .result.fs_hash)" "\"$("$JUDGE" hash work)\""

# --- the protocol -----------------------------------------------------------------------------------------------

{
    echo garbage
    echo '{"jsonrpc":"2.0","id":1'
    echo '{"jsonrpc":"1.0","id":2,"method":"ping"}'
    echo '{"jsonrpc":"2.0","id":3,"method":"nothing"}'
    echo '{"jsonrpc":"2.0","id":4,"method":"exec"}'
    echo '{"jsonrpc":"2.0","id":5,"method":"exec","params":["true"]}'
    echo '{"jsonrpc":"2.0","id":6,"method":"exec","params":{"command":7}}'
    echo '{"jsonrpc":"2.0","id":7,"method":"exec","params":{"command":"true","comand":"x"}}'
    echo '{"jsonrpc":"2.0","method":"exec","params":{"command":"echo note > note"}}'
    echo '{"jsonrpc":"2.0","id":1.5,"method":"ping"}'
    echo '{"jsonrpc":"2.0","id":{},"method":"ping"}'
    echo '[]'
    echo '[{"jsonrpc":"2.0","method":"ping"}]'
    echo '[{"jsonrpc":"2.0","id":8,"method":"exec","params":{"command":"cat note"}},1,{"jsonrpc":"2.0","method":"ping"},{"jsonrpc":"2.0","id":9,"method":"ping"}]'
    printf '%0.s[' $(seq 100000)
    echo
    printf '{"jsonrpc":"2.0","id":10,"method":"exec","params":{"command":"%s"}}\n' "$(head -c 5000000 /dev/zero | tr '\0' x)"
    printf '{"jsonrpc":"2.0","id":11,"method":"exec","params":{"command":"'
    head -c 9000000 /dev/zero | tr '\0' x
    printf '"}}\n'
    printf '\0\0\377\376\n   \r\n'
    printf '{"jsonrpc":"2.0","id":12,"method":"exec","params":{"command":"true\\u0000x"}}\n'
    printf '{"jsonrpc":"2.0","id":13,"method":"exec","params":{"command":"cat","cwd":"/etc"}}\n'
    printf '{"jsonrpc":"2.0","id":14,"method":"ping"}'
} | serve --workspace :memory: > "$scratch/said"
is 'the server lives through all of it' $? 0
check 'every line that comes back is JSON-RPC' jq -es 'all(.[] | arrays[], objects; .jsonrpc == "2.0" and has("id") and (has("result") != has("error")))' "$scratch/said"
objects() { jq -c 'objects | [.id, .error.code]' "$scratch/said" | tr '\n' ' '; }
is 'with the codes that it has for them' "$(objects)" \
    '[null,-32700] [null,-32700] [2,-32600] [3,-32601] [4,-32602] [5,-32602] [6,-32602] [7,-32602] [null,-32600] [null,-32600] [null,-32600] [null,-32700] [10,-32602] [11,-32600] [null,-32700] [12,null] [13,null] [14,null] '
is 'a batch is answered as one, notifications are not' "$(jq -c 'arrays | map([.id, .result.stdout, .error.code])' "$scratch/said")" '[[8,"note\n",null],[null,null,-32600],[9,null,null]]'
is 'a NUL is refused, not cut off' "$(said 12 .result.status)" '"denied"'
unlike 'a directory outside is refused' "$(said 13 .result.status)" '"ok"'

# --- the same commands, the same hashes -------------------------------------------------------------------------

commands() {
    ask configure '{"allow":["echo","cat","mkdir","rm","cp","mv","ln","sort","printf","true"],"limits":{"processes":5}}'
    local i
    for i in $(seq 25); do
        ask exec "$(jq -nc --arg c "mkdir -p d$((i % 4)); echo $i > d$((i % 4))/f$i; printf '%s\n' $i >> all" '{command: $c}')"
        ask exec "$(jq -nc --arg c "cp all copy$i && sort -r all > sorted; ln -f sorted hard" '{command: $c}')"
        ask exec "$(jq -nc --arg c "ln -sf copy$i last; mv copy$i moved; cat last nothing" '{command: $c}')"
        ask exec "$(jq -nc --arg c "touch never$i; rm moved" '{command: $c}')"
    done
}
session() { # NAME OPTION…: hashes of each step
    local name=$1
    shift
    n=0
    commands | serve --config "$scratch/free.yaml" "$@" |
        jq -r '.result | [.status, .exit_code, .fs_hash, .mandate_hash] | @tsv' > "$scratch/$name"
}
mkdir first 'a second one' "$scratch/third"
touch -d '2001-02-03 04:05:06' 'a second one'
chmod 755 first 'a second one' "$scratch/third"
session memory1 --workspace :memory:
session dir1 --workspace first
(
    umask 022
    export TZ=Pacific/Kiritimati HOME=$scratch
    cd / && session dir2 --workspace "$OLDPWD/a second one"
    cd "$scratch" && session memory2 --workspace :memory:
)
is 'a hundred commands are answered' "$(wc -l < "$scratch/memory1") $(cut -f1 "$scratch/memory1" | sort | uniq -c | tr -s ' \n' ' ')" '101  25 denied 25 failed 51 ok '
check 'two fresh sessions in memory: the same hashes at every step' cmp "$scratch/memory1" "$scratch/memory2"
check 'two directories, zones and homes: the same' cmp "$scratch/dir1" "$scratch/dir2"
check 'and the same in both' cmp "$scratch/memory1" "$scratch/dir1"
is 'the hash changes where something changed' "$(cut -f3 "$scratch/dir1" | sort -u | wc -l)" 76
"$JUDGE" replay --workspace first --config "$scratch/free.yaml" --start "$scratch/third" > "$scratch/out" 2>&1
is 'replay agrees' "$? $(grep -c ' same' "$scratch/out")" '0 75'

# --- the client leaves ------------------------------------------------------------------------------------------

tag=$(unique)
mkfifo "$scratch/in"
"$JUDGE" serve --rpc --workspace work --config "$scratch/free.yaml" < "$scratch/in" 2> /dev/null | head -c 1 > /dev/null &
exec 5> "$scratch/in"
ask exec "{\"command\":\"sleep $tag\",\"timeout_ms\":60000}" >&5
check 'control: it runs' wait_until 10 alive "^sleep $tag"
# The reader of its output goes away with the first byte of an answer: here by a second, that is told at once.
printf '{"jsonrpc":"2.0","id":99,"method":"cancel","params":{"id":98}}\n' >&5
is_gone 'nobody reads any more: what ran is killed' "$tag"
exec 5>&-
wait

n=0
ask exec "{\"command\":\"sleep $tag\",\"timeout_ms\":60000}" > "$scratch/one"
mkfifo "$scratch/in2"
"$JUDGE" serve --rpc --workspace work --config "$scratch/free.yaml" < "$scratch/in2" > "$scratch/said" 2> /dev/null &
pid=$!
exec 5> "$scratch/in2"
cat "$scratch/one" >&5
wait_until 10 alive "^sleep $tag"
printf '{"jsonrpc":"2.0","id":"c","method":"cancel","params":{"id":1}}\n' >&5
check 'cancel: the call is answered' wait_until 10 grep -q '"id":1,' "$scratch/said"
is 'as killed' "$(said 1 .result.status) $(said '"c"' .result.cancelled)" '"killed" true'
ask ping >&5
check 'and the session goes on' wait_until 10 grep -q '"id":2,' "$scratch/said"
exec 5>&-
wait "$pid"
is 'it ends with its input' $? 0
"$JUDGE" serve --rpc --mcp < /dev/null > /dev/null 2>&1
is 'one server at a time' $? 2

check 'the ledger verifies' "$JUDGE" verify
is 'no run is open' "$("$JUDGE" history --json --status running | jq length)" 0
done_testing

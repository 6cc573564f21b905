#!/usr/bin/env bash
# The preset bash-medium, number by number: 5000, 8000, 30 s, 124, its texts, its prompt, its tool, SUBMIT.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
NACRE=$JUDGE
export XDG_CONFIG_HOME=$scratch/config
mkdir -p "$scratch/config/nacre"
echo 'extends: bash-medium' > "$scratch/config/nacre/config.yaml"
value() { jq -r "$1" "$scratch/out"; }
of() { head -c "$1" /dev/zero | tr '\0' x; } # so many characters

# Length: 5000 characters, blanks around it not counted.
nacre run --json "echo $(of 4995)"
is '5000 characters' "$(value .status)" ok
nacre run --json "echo $(of 4996)"
is '5001' "$(value '[.status, .stdout, .stderr] | @json')" '["denied","Error: Command too long (5001 chars). Maximum 5000.",""]'
nacre run --json "   echo $(of 4995)  "
is 'blanks around it' "$(value .status)" ok
nacre run --json "echo $(printf 'é%.0s' $(seq 4995))"
is 'characters, not bytes' "$(value .status)" ok
nacre run "echo $(of 5000)"
is 'also as text' "$out" 'Error: Command too long (5005 chars). Maximum 5000.'

# Output: one stream, trimmed, 8000 characters, cut at a line's end that is past half.
nacre run --json 'echo a; echo b >&2; echo c'
is 'combined, in order' "$(value '[.stdout, .stderr] | @json')" '["a\nb\nc",""]'
nacre run --json 'printf "\n\n  a  \n\n"'
is 'trimmed' "$(value .stdout)" a
nacre run --json true
is 'none' "$(value .stdout)" '(no output)'
nacre run --json 'echo "   "'
is 'blanks alone are none' "$(value .stdout)" '(no output)'
nacre run --json "printf %8000s x | tr ' ' x"
is '8000 characters are whole' "$(value '[.stdout_truncated, (.stdout | length)] | @json')" '[false,8000]'
nacre run --json "printf %8001s x | tr ' ' x"
is '8001 are not' "$(value '[.stdout_truncated, (.stdout | length)] | @json')" '[true,8016]'
like 'the mark' "$(value .stdout)" $'*x\n... (truncated)'
nacre run --json 'seq 1 5000'
is 'cut at the end of a line' "$(value .stdout | tail -n 2)" $'1821\n... (truncated)'
nacre run --json "echo a; printf %9000s x | tr ' ' x"
is 'but not where that leaves less than half' "$(value '.stdout | length')" 8016
for at in 4000 4001; do # of 8000 characters the line ends behind so many
    nacre run --json "printf '%${at}s\\n' x | tr ' ' x; printf '%9000s' y | tr ' ' y"
    [ $at = 4000 ] && wanted=8016 || wanted=4017
    is "past half: behind $at" "$(value '.stdout | length')" "$wanted"
done

# Time: 30 s unless said otherwise; past it the text and 124.
nacre status --json
is 'the default' "$(value .limits.timeout_ms)" 30000
nacre run --json --timeout 1s 'sleep 60'
is 'past it' "$(value '[.exit_code, .stdout] | @json')" '[124,"Error: Command timed out after 1s"]'
nacre run --json --timeout 1s 'echo before; sleep 60'
is 'behind what was printed' "$(value .stdout)" $'before\nError: Command timed out after 1s'
nacre run --json --timeout 1900ms 'sleep 60'
is 'in whole seconds' "$(value .stdout)" 'Error: Command timed out after 1s'

# SUBMIT.
nacre run --json 'echo working; echo "  submit:   forty two  "; false'
is 'an answer ends the task' "$(value '[.answer, .stdout] | @json')" '["forty two","Task completed: forty two"]'
nacre run --json 'a=7; echo "SUBMIT: $((a * 6))"'
is 'after expansion' "$(value .answer)" 42
nacre run --json 'echo "no SUBMIT: here"'
is 'only at the start of a line' "$(value '.answer')" null
nacre run --json 'echo "SUBMIT:  "; echo SUBMIT:first; echo SUBMIT: second'
is 'the first one that is not empty' "$(value .answer)" first
nacre run --json 'echo SUBMIT: from stderr >&2'
is 'in either stream' "$(value .answer)" 'from stderr'
nacre run --json 'seq 1 5000; echo SUBMIT: late'
is 'behind what is cut' "$(value '[.answer, .stdout] | @json')" '["late","Task completed: late"]'
nacre run --json --timeout 1s 'echo SUBMIT: early; sleep 60'
is 'not of a command that was ended by its time' "$(value '[.status, .exit_code, .answer] | @json')" '["timeout",124,null]'

# Each command is a process of its own; errors are its own.
nacre run --json 'cd /tmp; x=1'
nacre run --json 'echo "[$x]$PWD"'
is 'nothing stays' "$(value .stdout)" "[]$PWD"
nacre run --json 'echo bad >&2; exit 3'
is 'exit code and text of a failure' "$(value '[.exit_code, .stdout] | @json')" '[3,"bad"]'

# No writes but where the configuration says, no network; here documents work.
nacre run 'echo x > made'
is 'what is refused says so in the output' "$out" "Error: '$PWD/made' would be changed, and the workspace is read-only"
nacre run "python3 -c 'open(\"made\", \"w\")'"
refute 'nothing is written' [ -e made ]
nacre run --json 'echo "$TMPDIR"; echo x > "$TMPDIR/f" && cat "$TMPDIR/f"'
is 'but temporary files' "$(value .stdout)" $'/tmp\nx'
nacre run --json $'cat <<EOF\nhere\nEOF'
is 'a here document' "$(value .stdout)" here
nacre run --json 'cat /proc/net/dev | tail -n +3 | cut -d: -f1 | tr -d " "'
is 'only a loopback' "$(value .stdout)" lo
mkdir -p "$scratch/out.d"
printf 'extends: bash-medium\npaths: {write: [%s]}\n' "$scratch/out.d" > "$scratch/wide.yaml"
nacre run --config "$scratch/wide.yaml" "echo x > $scratch/out.d/made"
check 'a path that is listed is writable' [ -f "$scratch/out.d/made" ]

# What a model is told, and its tool.
nacre prompt
like 'the figures' "$out" '*SHELL PHYSICS (bash)*truncated at 8000 chars*time out after 30s*Max command length: 5000 chars*'
printf 'extends: bash-medium\nshell: {default_timeout: 45s, max_command_length: 100}\noutput: {limit: 500}\n' > "$scratch/other.yaml"
nacre prompt --config "$scratch/other.yaml"
like 'are those of the policy' "$out" '*truncated at 500 chars*time out after 45s*Max command length: 100 chars*'
nacre tools --for openai
is 'the tool, and it is the only one' "$(value '.[].function | [.name, .parameters.properties, .parameters.required] | @json')" \
    '["bash",{"command":{"type":"string","description":"Shell command to execute."}},["command"]]'
like 'its text' "$(value '.[].function.description')" 'Execute a sandboxed shell command;*SUBMIT:*to return the final result.'
for form in mcp anthropic; do
    nacre tools --for $form
    is "for $form" "$(value 'map(.name) | @json')" '["bash"]'
done
# shellcheck disable=SC2094 # that it is written to is what is waited for
{
    printf '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}\n'
    printf '{"jsonrpc":"2.0","method":"notifications/initialized"}\n'
    printf '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"bash","arguments":{"command":"seq 1 5000"}}}\n'
    printf '{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"bash","arguments":{"command":"true","background":true}}}\n'
    printf '{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"bash","arguments":{"command":"sleep 2; echo slow"}}}\n'
    printf '{"jsonrpc":"2.0","id":5,"method":"tools/list"}\n'
    for id in 2 4; do wait_until 30 grep -q "\"id\":$id," "$scratch/said"; done # it ends with its input
} | "$JUDGE" serve --mcp --patience 1s 2> "$scratch/err" > "$scratch/said"
said=$(jq -r 'select(.id == 1) | .result.instructions' "$scratch/said")
like 'a client is told the same' "$said" '*bash takes a text of bash*SHELL PHYSICS (bash)*truncated at 8000 chars*'
unlike 'and of no tool that there is not' "$said" '*run_command*'
unlike 'none at all' "$said" '*undo*'
is 'called by its name, cut once' "$(jq -r 'select(.id == 2) | .result.structuredContent.stdout' "$scratch/said" | tail -n 2)" $'1821\n... (truncated)'
is 'with one argument and no other' "$(jq -c 'select(.id == 3) | .result | [.isError, .structuredContent.argument]' "$scratch/said")" '[true,"background"]'
is 'waited for, since no tool could go on from it' "$(jq -c 'select(.id == 4) | .result.structuredContent | [.status, .stdout]' "$scratch/said")" '["ok","slow"]'
is 'the only tool' "$(jq -c 'select(.id == 5) | .result.tools | map(.name)' "$scratch/said")" '["bash"]'
done_testing

#!/usr/bin/env bash
# The result as JSON: every field, valid whatever the command prints, truncated where it says.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

# Leaves the result in $scratch/out; FILTER must be true of it.
holds() { # NAME FILTER [jq options]
    local name=$1 filter=$2
    shift 2
    if [ "$(jq -e "$@" "$filter" "$scratch/out" 2>&1 | tail -1)" = true ]; then ok "$name"; else
        not_ok "$name" "not true: $filter" "$(head -c 1200 "$scratch/out")" "stderr: ${err:0:300}"
    fi
}
is_one_line() { # NAME
    if [ "$(wc -l < "$scratch/out")" = 1 ] && [ "$(tail -c 1 "$scratch/out" | od -An -c | tr -d ' ')" = '\n' ] &&
        jq -e . "$scratch/out" > /dev/null; then ok "$1"; else not_ok "$1" "$(head -c 600 "$scratch/out")"; fi
}
is_utf8() { check "$1" iconv -f UTF-8 -t UTF-8 -o /dev/null "$scratch/out"; }

# --- the fields -------------------------------------------------------------------------------

before=$(date -u +%s)
nacre run --json 'echo out; echo err >&2'
after=$(date -u +%s)
exits 'exit code' 0
is 'nothing on standard error' "$err" ''
is_one_line 'the result is one line of JSON'
holds 'status' '.status == "ok"'
holds 'exit_code' '.exit_code == 0'
holds 'command is the text' '.command == "echo out; echo err >&2"'
holds 'args' '.args == ["bash", "-c", "--", .command]'
holds 'working_dir' '.working_dir == $pwd' --arg pwd "$PWD"
holds 'stdout' '.stdout == "out\n"'
holds 'stderr' '.stderr == "err\n"'
holds 'stdout_bytes, stderr_bytes' '.stdout_bytes == 4 and .stderr_bytes == 4'
holds 'not truncated' '.stdout_truncated == false and .stderr_truncated == false'
holds 'no omitted range' '(has("stdout_omitted") or has("stderr_omitted")) | not'
holds 'duration_ms' '(.duration_ms | type) == "number" and .duration_ms < 30000'
holds 'cpu_ms' '(.resource_usage.cpu_ms | type) == "number"'
holds 'memory_peak_bytes is that of a shell at least' '.resource_usage.memory_peak_bytes > 500000'
holds 'warnings' '.warnings == []'
holds 'no error' 'has("error") | not'
holds 'no rule' 'has("policy_rule_matched") | not'
holds 'correlation_id is a UUID of version 4 or 7' \
    '.correlation_id | test("^[0-9a-f]{8}-[0-9a-f]{4}-[47][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$")'
holds 'timestamp is RFC 3339 in UTC' '.timestamp | test("^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]+)?Z$")'
holds 'and is the time of the call' '(.timestamp | sub("[.][0-9]+Z$"; "Z") | fromdate) as $t | $t >= $a - 2 and $t <= $b + 2' \
    --argjson a "$before" --argjson b "$after"
holds 'no field twice' '([tostream | select(length == 2) | .[0] | map(tostring) | join("/")] | length) ==
    ([tostream | select(length == 2) | .[0] | map(tostring) | join("/")] | unique | length)'
id=$(jq -r .correlation_id "$scratch/out")
nacre run --json true
unlike 'another run has another id' "$(jq -r .correlation_id "$scratch/out")" "$id"
nacre run --format json 'echo out; exit 3'
exits '--format json passes the exit code' 3
holds '--format json is the same' '.status == "failed" and .exit_code == 3 and .stdout == "out\n"'
nacre run --format text 'echo out'
prints '--format text is the default' out
nacre run --json --cwd sub true
mkdir sub
nacre run --json --cwd sub pwd
holds 'working_dir is where it started' '.working_dir == $pwd + "/sub" and .stdout == .working_dir + "\n"' --arg pwd "$PWD"
nacre run --json 'dd if=/dev/zero of=/dev/null bs=200M count=1 2>/dev/null; i=0; while [ $i -lt 150000 ]; do i=$((i+1)); done'
holds 'the peak of memory is seen' '.resource_usage.memory_peak_bytes > 200000000'
holds 'and time on the processor' '.resource_usage.cpu_ms > 20'

# --- status -----------------------------------------------------------------------------------

nacre run --json 'exit 9'
holds 'failed' '.status == "failed" and .exit_code == 9'
nacre run --json no-such-command
holds 'not found' '.status == "failed" and .exit_code == 127 and (.stderr | test("not found"))'
nacre run --json 'kill -9 $$'
exits 'killed: exit code' 137
holds 'killed' '.status == "killed" and .exit_code == 137'
nacre run --json --timeout 500ms 'echo part; echo perr >&2; sleep 30'
exits 'timeout: exit code' 124
holds 'timeout' '.status == "timeout" and .exit_code == 124'
holds 'timeout keeps what came before' '.stdout == "part\n" and .stderr == "perr\n"'
holds 'and says so' '.warnings | length == 1 and (.[0] | test("time limit"))'
is_one_line 'timeout is one line'
nacre run --json --workspace /no/such/place 'echo x'
exits 'error: exit code' 125
holds 'error' '.status == "error" and .exit_code == 125 and (.error | test("/no/such/place"))'
holds 'error has the known fields' '.command == "echo x" and .stdout == "" and (has("correlation_id") and has("timestamp") and has("warnings"))'
holds 'and no others' '(has("args") or has("resource_usage") or has("working_dir")) | not'
is_one_line 'error is one line'
printf 'a\nbc\0d' | nacre run --json -
exits 'denied: exit code' 126
holds 'denied' '.status == "denied" and .policy_rule_matched == "parse" and (.error | test("line 2, column 3"))'
holds 'the text is whole' '.command == "a\nbc\u0000d"'
is_one_line 'denied is one line'
head -c 4194305 /dev/zero | tr '\0' '#' | nacre run --json -
exits 'a text that is too long: exit code' 126
holds 'a text that is too long is a result too' '.status == "denied" and .exit_code == 126'
nacre run --json --timeout 700s true
holds 'a clamped limit is a warning' '.status == "ok" and (.warnings | length == 1) and (.warnings[0] | test("600 s"))'
nacre run --json --limit output=1TB true
holds 'the output'"'"'s too' '.status == "ok" and (.warnings | length == 1) and (.warnings[0] | test("64 MB"))'

# --- any bytes --------------------------------------------------------------------------------

for _ in 1 2 3 4 5; do
    nacre run --json 'head -c 20000 /dev/urandom; head -c 5000 /dev/urandom >&2'
    is_utf8 'random bytes: valid UTF-8'
    is_one_line 'random bytes: one line'
    holds 'random bytes: counted' '.stdout_bytes == 20000 and .stderr_bytes == 5000'
done
nacre run --json 'printf "a\0b\n\0"'
holds 'NUL' '.stdout == "a\u0000b\n\u0000" and .stdout_bytes == 5'
nacre run --json 'for i in $(seq 0 127); do printf "\\$(printf %03o $i)"; done'
holds 'every ASCII character' '(.stdout | explode) == [range(0; 128)]'
nacre run --json 'printf "é€😀\u202e\ufeff\u2028"'
holds 'characters of every length' '(.stdout | explode) == [233, 8364, 128512, 8238, 65279, 8232]'
nacre run --json 'printf "a\xffb\xc3"; printf "\xed\xa0\x80" >&2'
is_utf8 'bytes that are no UTF-8: valid'
holds 'they are replaced, the rest is kept' '(.stdout | test("^a.+b.+$")) and (.stdout | contains("\ufffd")) and .stdout_bytes == 4'
holds 'a surrogate too' '.stderr_bytes == 3 and (.stderr | explode | all(. == 65533))'
nacre run --json $'printf %s "\xff"'
is_utf8 'a command that is no UTF-8: valid'
is_one_line 'and one line'

# --- limits -----------------------------------------------------------------------------------

lines='for i in $(seq -w 1 1000); do echo "line $i"; done' # 10 bytes each
nacre run --json --limit output=10000 "$lines"
holds 'exactly the limit is not truncated' '.stdout_truncated == false and .stdout_bytes == 10000 and (.stdout | length) == 10000'
nacre run --json --limit output=9999 "$lines"
holds 'one byte more is' '.stdout_truncated == true and .stdout_bytes == 10000'
holds 'with a warning' '.warnings | length == 1 and (.[0] | test("stdout was truncated"))'
for keep in head tail both; do
    nacre run --json --keep $keep --limit output=1KB "$lines"
    holds "$keep: truncated, counted" '.stdout_truncated and .stdout_bytes == 10000'
    holds "$keep: within the limit" '(.stdout | sub("\\[[0-9]+ bytes omitted\\]\n"; "") | length) <= 1024'
    holds "$keep: no more than the limit asks is left out" '(.stdout_omitted[1] - .stdout_omitted[0]) <= 10000 - 1024 + 20'
    holds "$keep: whole lines" '.stdout | split("\n")[:-1] | all(test("^line [0-9]{4}$|^\\[[0-9]+ bytes omitted\\]$"))'
    holds "$keep: the range is what is missing" '
        [range(1; 1001) | "line " + ("000" + tostring)[-4:] + "\n"] | add as $all | '"$(jq -c . "$scratch/out")"' |
        (.stdout | sub("\\[[0-9]+ bytes omitted\\]\n"; "")) == $all[0:.stdout_omitted[0]] + $all[.stdout_omitted[1]:]' -n
done
nacre run --json --keep head --limit output=1KB "$lines"
holds 'head keeps the first line' '(.stdout | startswith("line 0001\n")) and .stdout_omitted[1] == 10000'
nacre run --json --keep tail --limit output=1KB "$lines"
holds 'tail keeps the last line' '(.stdout | endswith("line 1000\n")) and .stdout_omitted[0] == 0'
nacre run --json --keep both --limit output=1KB "$lines"
holds 'both keeps first and last, and marks the gap' '.stdout | startswith("line 0001\n") and endswith("line 1000\n") and test("\n\\[[0-9]+ bytes omitted\\]\n")'
nacre run --json --limit output=1KB "$lines; $lines >&2"
holds 'each stream has its own limit' '.stdout_truncated and .stderr_truncated and (.stderr_omitted | length == 2) and (.warnings | length == 2)'
nacre run --json --limit output=1 'echo hello'
holds 'a limit of one byte' '.stdout_truncated and .stdout_bytes == 6'

# Never inside a character, whatever the limit and its length.
torn=''
for limit in $(seq 100 110); do
    for keep in head tail both; do
        for character in é € 😀; do
            nacre run --json --keep $keep --limit output="$limit" "printf '$character%.0s' {1..100}"
            jq -e --arg c "$character" '.stdout_truncated and (.stdout | gsub("\n?\\[[0-9]+ bytes omitted\\]\n"; "") |
                length > 20 and (gsub($c; "") == ""))' "$scratch/out" > /dev/null || torn+="$limit/$keep/$character "
        done
    done
done
is 'no limit tears a character' "$torn" ''

# Text mode shows what JSON keeps.
for keep in head tail both; do
    "$NACRE" run --keep $keep --limit output=1KB "$lines" > "$scratch/text" 2> "$scratch/err"
    nacre run --json --keep $keep --limit output=1KB "$lines"
    jq -j .stdout "$scratch/out" > "$scratch/json"
    check "$keep: text mode shows the same" cmp "$scratch/text" "$scratch/json"
done
"$NACRE" run --limit output=1KB "$lines" 2> "$scratch/err" > /dev/null
like 'and warns' "$(cat "$scratch/err")" 'nacre: warning: stdout was truncated at 1 KB: *'

done_testing

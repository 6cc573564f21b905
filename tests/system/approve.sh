#!/usr/bin/env bash
# Approvals: a question, who answers it and how, and what becomes of the call that asked.
# shellcheck disable=SC2016,SC2317 # texts for the inside are not expanded here; functions that others call

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
NACRE=$JUDGE
export XDG_CONFIG_HOME=$scratch/config
config=$XDG_CONFIG_HOME/nacre/config.yaml
mkdir -p ws/sub "${config%/*}"
cd ws || exit 1
mkdir -p "${config%/*}/agents"
printf 'extends: dev\nshell:\n  allow: [ls]\n  unknown: confirm\n' > "${config%/*}/agents/mine.yaml"

asked() { # TEXT [OPTION…]: the result is in $scratch/result
    local text=$1
    shift
    "$NACRE" run --json "$@" "$text" > "$scratch/result" 2> "$scratch/err"
    code=$?
}
status() { jq -r .status "$scratch/result"; }
open() { "$NACRE" pending --json | jq -r "$1"; }
last() { open '.[-1].id'; }

# --- a question --------------------------------------------------------------------------------

asked 'python3 -c "print(1)"'
is 'refused at once' "$code $(status)" '126 needs_confirmation'
id=$(jq -r .correlation_id "$scratch/result")
like 'with how to answer' "$(jq -r .error "$scratch/result")" "*nacre approve ${id:0:8}*nacre deny ${id:0:8}*"
is 'it is open, by its id' "$(open '.[].id')" "$id"
asked 'python3 -c "print(1)"'
is 'the same question is not asked twice' "$(open length)" 1
for i in 1 2 3 4 5 6 7 8; do "$NACRE" run --json 'python3 -c "print(8)"' > "$scratch/at-once.$i" 2> /dev/null & done
wait
is 'nor by eight at once' "$(open 'map(select(.command | test("8"))) | length')" 1
is 'who are told the same id' "$(jq -r .error "$scratch"/at-once.* | sort -u | wc -l)" 1
"$NACRE" deny "$(last)" > "$scratch/out"
like 'and has the same id' "$(jq -r .error "$scratch/result")" "*nacre approve ${id:0:8}*"
nacre pending
like 'the list' "$out" "${id:0:8}  run *python3 -c \"print(1)\""
nacre pending "${id:0:6}"
like 'one in full: why' "$out" "*'python3' is not on the list*"
like 'every command' "$out" "*commands   1, of which 1 asks*? python3 -c 'print(1)'*"
like 'and the text' "$out" '*1 | python3 -c "print(1)"*'
nacre pending nothing
complains 'one that is not there' 1 "nacre: pending: there is no question 'nothing'*"
nacre approve "$id"
complains 'nobody can be asked here' 2 '*then say --yes'
nacre approve --yes --once --job "$id"
complains 'once and for a job' 2 '*exclude each other'
nacre approve
exits 'which one?' 2
is 'for its owner alone' "$(find "$XDG_STATE_HOME/nacre/questions" -perm /077 | wc -l)" 0

# --- once --------------------------------------------------------------------------------------

nacre approve --yes "$id"
like 'approved' "$out" "*${id:0:8} approved: the same call goes through once"
nacre approve --yes "$id"
complains 'not twice' 1 '*is answered already'
asked 'python3 -c "print(2)"'
is 'another text is not' "$(status)" needs_confirmation
asked 'python3 -c "print(1)"' --cwd sub
is 'nor another directory' "$(status)" needs_confirmation
asked 'python3 -c "print(1)"' --agent mine
is 'nor another agent' "$(status)" needs_confirmation
asked 'python3 -c "print(1)"' --limit files=50
is 'nor another policy' "$(status)" needs_confirmation
echo in > "$scratch/in"
asked 'python3 -c "print(1)"' < "$scratch/in"
is 'nor another input' "$(status)" needs_confirmation
asked "python3  -c  'print(1)'"
is 'the same call goes through, however it is spelled' "$code $(jq -r .stdout "$scratch/result")" '0 1'
used=$(jq -r .correlation_id "$scratch/result")
asked 'python3 -c "print(1)"'
is 'once' "$code $(status)" '126 needs_confirmation'
nacre history "$used"
like 'who approved is in the history' "$out" "*approved by*uid $(id -u)*question ${id:0:8}*"
nacre history "$id"
like 'the question, its answer and its use' "$out" "*question *answer *yes by uid $(id -u)*used *by run $used*"

# Input from a file is a part of the question.
asked 'python3 -' < "$scratch/in"
id=$(jq -r .correlation_id "$scratch/result")
"$NACRE" approve --yes "$id" > /dev/null
echo 'print("evil")' > "$scratch/in"
asked 'python3 -' < "$scratch/in"
is 'an answer for one input is none for another' "$(status)" needs_confirmation
echo in > "$scratch/in"
asked 'python3 -' < "$scratch/in"
is 'control: for the same it is' "$(jq -r .exit_code "$scratch/result")" 1

# --- for a job, no, always ---------------------------------------------------------------------

asked 'python3 -c "print(3)"'
check 'for a job' "$NACRE" approve --yes --job "$(jq -r .correlation_id "$scratch/result")"
asked 'python3 -c "print(3)"'
asked 'python3 -c "print(3)"'
is 'goes through often' "$(jq -r .stdout "$scratch/result")" 3

asked 'python3 -c "print(4)"'
id=$(jq -r .correlation_id "$scratch/result")
nacre deny --reason $'use \e[31mthe staging server' "$id"
prints 'denied' "${id:0:8} denied"
asked 'python3 -c "print(4)"'
is 'the agent is told' "$code $(status)" '126 denied'
like 'why' "$(jq -r .error "$scratch/result")" $'denied by uid * use \e[31mthe staging server'
unlike 'and no terminal obeys it' "$(cat "$scratch/err")" $'*\e*'
check 'again it is no' jq -e '.status == "denied"' <("$NACRE" run --json 'python3 -c "print(4)"' 2> /dev/null)

printf '# mine\nredact: logs   # as ever\nshell:\n  confirm: ["git tag"]\n' > "$config"
cp "$config" "$scratch/before"
asked 'python3 tool.py --fast; ls'
nacre approve --yes --always "$(jq -r .correlation_id "$scratch/result")"
like 'always: says which line in which file' "$out" "*$(realpath "$config"):5: \"= python3 tool.py --fast\"*"
is 'the rest is as it was' "$(diff "$scratch/before" "$config")" '3a4,5
>   allow:
>     - "= python3 tool.py --fast"'
is 'it is allowed now' "$("$NACRE" test --json 'python3 tool.py --fast' | jq -r .decision)" allow
for text in 'python3 tool.py --fast x' 'python3 tool.py' 'python3 tool.py --slow' './python3 tool.py --fast' 'python3 -x tool.py --fast'; do
    is "and nothing else: $text" "$("$NACRE" test --json "$text" | jq -r .decision)" confirm
done
cp "$config" "$scratch/before"
for text in 'python3 "a b"' 'python3 $(ls)' 'python3 *.py' 'git tag x' "python3 'a*'"; do
    asked "$text"
    id=$(jq -r .correlation_id "$scratch/result")
    nacre approve --yes --always "$id"
    is "no rule can say it: $text" "$code $(cmp "$config" "$scratch/before" && echo same)" '1 same'
    "$NACRE" deny "$id" > /dev/null
done
asked 'nosuch thing' --agent coder
nacre approve --yes --always "$(last)"
like 'an agent that has no file of the user' "$err" '*is not one of yours*'
"$NACRE" deny "$(last)" > /dev/null
asked 'nosuch thing' --agent mine
nacre approve --yes --always "$(last)"
is 'an agent that has: its file' "$(sed -n 3p "${config%/*}/agents/mine.yaml")" '  allow: [ls, "= nosuch thing"]'
is 'and not for others' "$("$NACRE" test --json 'nosuch thing' | jq -r .decision)" confirm

# --- waiting -----------------------------------------------------------------------------------

waits() { [ "$(open "[.[] | select(.waits)] | length")" = "$1" ]; }
"$NACRE" run --wait 'python3 -c "print(5)"' > "$scratch/waited" 2> "$scratch/waiting" &
check 'a run waits' wait_until 10 waits 1
like 'and says for what' "$(cat "$scratch/waiting")" 'nacre: waiting for an answer: `nacre approve *'
id=$(open '.[] | select(.waits) | .id')
asked 'python3 -c "print(5)"'
is 'another run does not wait for that' "$(status)" needs_confirmation
"$NACRE" deny "$(last)" > /dev/null
check 'answered' "$NACRE" approve --yes "$id"
wait $!
is 'it goes on' "$? $(cat "$scratch/waited")" '0 5'
"$NACRE" run --wait --json 'python3 -c "print(6)"' > "$scratch/result" 2> /dev/null &
check 'another waits' wait_until 10 waits 1
"$NACRE" deny -r 'not so' "$(open '.[] | select(.waits) | .id')" > /dev/null
wait $!
is 'denied while it waits' "$? $(status)" '126 denied'
like 'with the reason' "$(jq -r .error "$scratch/result")" '*: not so'
for signal in TERM KILL; do
    "$NACRE" run --wait "python3 -c 'print(6)' $signal" > "$scratch/waited" 2>&1 &
    check "killed by $signal: it waits" wait_until 10 waits 1
    kill -$signal $!
    wait $!
    check "killed by $signal: its question is withdrawn" wait_until 10 waits 0
done
printf 'approvals: {timeout: 300ms}\n' > "$scratch/soon.yaml"
asked 'python3 -c "print(7)"' --wait --config "$scratch/soon.yaml"
is 'too late is no' "$code $(status)" '126 denied'
asked 'python3 -c "print(8)"' --config "$scratch/soon.yaml"
id=$(jq -r .correlation_id "$scratch/result")
gone() { [ "$(open "map(select(.id == \"$id\")) | length")" = 0 ]; }
check 'an open question is over some time' wait_until 10 gone
refute 'nor is it answered then' "$NACRE" approve --yes "$id"
is 'that is in the record' "$("$NACRE" escalations --json | jq -r ".[] | select(.id == \"$id\") | .outcome")" expired

# --- changes that are held ---------------------------------------------------------------------

printf 'shell: {allow: [rm, touch]}\neffects: {delete_files: 2}\n' > "$config"
touch a b c
asked 'rm a b c'
is 'held' "$code $(status) $(ls)" $'126 needs_confirmation a\nb\nc\nsub'
id=$(jq -r .correlation_id "$scratch/result")
like 'it is listed' "$("$NACRE" pending)" "*${id:0:8}  changes  held *rm a b c"
like 'with every change' "$("$NACRE" pending "$id")" $'*deleted    3\n    a\n    b\n    c\n*'
nacre commit "$id"
complains 'commit does not take it' 1 '*is held for a person to look at: `nacre approve *'
check 'nothing is real' test -e a
nacre approve --yes "$id"
like 'approve does' "$out" '*approved: the changes are real'
check 'they are real' test ! -e a
check 'and are undone as others' "$NACRE" undo "$id"
asked 'rm a b c'
id=$(jq -r .correlation_id "$scratch/result")
nacre deny -r 'keep them' "$id"
prints 'deny throws them away' "${id:0:8} denied: the changes are gone"
check 'nothing is real' test -e a
like 'with the reason in the record' "$("$NACRE" history "$id")" '*no by uid*keep them*'
asked 'rm a b c'
"$NACRE" discard "$(jq -r .correlation_id "$scratch/result")" > /dev/null
is 'what was discarded is no question' "$(open 'map(select(.kind == "changes")) | length')" 0
asked 'touch staged' --stage
check 'what was staged and is allowed is committed' "$NACRE" commit "$(jq -r .correlation_id "$scratch/result")"
asked 'rm a b c' --stage
refute 'what was staged and is held is not' "$NACRE" commit "$(jq -r .correlation_id "$scratch/result")"
"$NACRE" deny "$(last)" > /dev/null

# --- a judge -----------------------------------------------------------------------------------

cat > "$scratch/judge" << 'J'
#!/bin/sh
here=${0%/*}
cat > "$here/seen"
env > "$here/environment"
echo >> "$here/calls"
eval "$(cat "$here/word")"
J
chmod 755 "$scratch/judge"
printf 'approvals: {judge: [%s], judge_timeout: 20s}\n' "$scratch/judge" > "$config"
echo "echo '{\"decision\": \"accept\", \"reason\": \"harmless\"}'" > "$scratch/word"
SECRET=hush asked 'python3 -c "print(9)"'
is 'a judge accepts' "$code $(jq -r .stdout "$scratch/result")" '0 9'
check 'it saw the question' jq -e '.command == "python3 -c \"print(9)\"" and .verdict.acts[0].argv[0] == "python3" and .kind == "run"' "$scratch/seen"
unlike 'and nothing of the environment' "$(cat "$scratch/environment")" '*hush*'
like 'it is in the record' "$("$NACRE" history "$(jq -r .correlation_id "$scratch/result")")" "*approved by *judge $scratch/judge*"
echo "echo '{\"decision\": \"reject\", \"reason\": \"bad taste\"}'" > "$scratch/word"
asked 'python3 -c "print(10)"'
is 'a judge rejects' "$code $(status)" '126 denied'
like 'with its reason' "$(jq -r .error "$scratch/result")" "denied by judge $scratch/judge: bad taste"
n=0
while read -r word; do
    n=$((n + 1))
    echo "$word" > "$scratch/word"
    asked "python3 -c 'print($n)' unsure"
    is "a person is asked: $word" "$code $(status)" '126 needs_confirmation'
done << 'W'
echo '{"decision": "escalate"}'
echo '{"decision": "accept"}'; exit 3
echo '{"decision": "accept"'
echo nonsense
:
W
printf 'approvals: {judge: [%s], judge_timeout: 200ms}\n' "$scratch/judge" > "$config"
mark=$(unique)
echo "echo '{\"decision\": \"accept\"}'; sleep $mark & sleep $mark" > "$scratch/word"
asked 'python3 -c "print(11)"'
is 'a judge that is late' "$code $(status)" '126 needs_confirmation'
is_gone 'and all that it started is gone' "$mark"
printf 'approvals: {judge: [%s/nobody]}\n' "$scratch" > "$config"
asked 'python3 -c "print(12)"'
is 'a judge that is not there' "$code $(status)" '126 needs_confirmation'
cp "$scratch/judge" judge
echo "echo '{\"decision\": \"accept\"}'" > word
printf 'approvals: {judge: [%s/judge]}\n' "$PWD" > "$config"
asked 'python3 -c "print(13)"'
is 'a judge in the workspace is not asked' "$code $(status) $(test -e calls && echo called)" '126 needs_confirmation '
rm -f judge word
printf 'approvals: {judge: [judge]}\n' > "$config"
asked 'ls'
like 'a judge without a path is no configuration' "$(cat "$scratch/err")" '*the program is named by its whole path*'

# --- a key -------------------------------------------------------------------------------------

echo 'correct horse battery' > "$scratch/pass"
echo 'wrong horse battery' > "$scratch/wrong"
rm "$config"
nacre approve --set-passphrase --name ada --passphrase-file "$scratch/pass"
exits 'a passphrase' 0
cp "$scratch/out" "$config"
check 'the policy loads with its line' "$NACRE" policy check
asked 'python3 -c "print(14)"'
id=$(jq -r .correlation_id "$scratch/result")
nacre approve --yes --passphrase-file "$scratch/wrong" "$id"
complains 'not with another passphrase' 1 '*that is not the passphrase'
asked 'python3 -c "print(14)"'
is 'no answer yet' "$(status)" needs_confirmation
check 'with it' "$NACRE" approve --yes --passphrase-file "$scratch/pass" "$id"
asked 'python3 -c "print(14)"'
is 'it goes through' "$(jq -r .stdout "$scratch/result")" 14
like 'and the record says who signed' "$("$NACRE" history "$(jq -r .correlation_id "$scratch/result")")" '*signed by ada*'
sed 's/approver: ada/approver: bob/' "$config" > "$scratch/bob.yaml"
asked 'ls' --config "$scratch/bob.yaml"
like "an approver's key bears the approver's name" "$(cat "$scratch/err")" "*approvals.key must be a key of 'bob'*"
if [ "$(id -u)" -eq 0 ]; then
    # Root answers for another user, with root's own key.
    rm -f "$config"
    XDG_STATE_HOME=$scratch/rootstate "$NACRE" approve --set-passphrase --name boss --passphrase-file "$scratch/pass" > "$scratch/boss.yaml"
    home=$(getent passwd "$TEST_USER" | cut -d: -f6)
    theirs=$(runuser -u "$TEST_USER" -- mktemp -d)
    as_them() { (cd "$theirs" && runuser -u "$TEST_USER" -- env -i HOME="$home" PATH="$PATH" XDG_STATE_HOME="$theirs/state" "$NACRE" "$@"); }
    install -m 644 "$scratch/boss.yaml" "$theirs/policy.yaml"
    mkdir "$theirs/ws" && chown "$TEST_USER" "$theirs/ws"
    as_them run -w ws --config policy.yaml 'python3 -c "print(15)"' > /dev/null 2>&1 < /dev/null
    id=$("$NACRE" pending --state-dir "$theirs/state/nacre" --json | jq -r '.[0].id')
    refute 'the agent has no such key' as_them approve --yes --passphrase-file "$scratch/pass" "$id"
    XDG_STATE_HOME=$scratch/rootstate check "another user's question, answered by its approver" \
        "$NACRE" approve --yes --state-dir "$theirs/state/nacre" --passphrase-file "$scratch/pass" "$id"
    is 'goes through' "$(as_them run -w ws --config policy.yaml 'python3 -c "print(15)"' 2>&1 < /dev/null)" 15
    is 'and leaves nothing of root there' "$(find "$theirs/state" -uid 0 | wc -l)" 0
    rm -rf "$theirs"
else
    # Whoever is not root has no way to it.
    refute "another user's questions are not shown" "$NACRE" pending --state-dir /root/.local/state/nacre
fi

# --- the record --------------------------------------------------------------------------------

"$NACRE" escalations export > "$scratch/lines"
check 'exported: one object a line, all settled' jq -se 'length > 10 and all(.outcome != "pending" and .id and .command and .reasons)' "$scratch/lines"
check 'with the answer, and by whom' jq -se "any(.outcome == \"denied\" and .answer.detail == \"keep them\" and (.answer.by | startswith(\"uid $(id -u)\")))" "$scratch/lines"
check 'and the judge' jq -se 'any(.judge.word == "reject" and .judge.detail == "bad taste")' "$scratch/lines"
rm -f "$config"
token=ghp_$(head -c 18 /dev/urandom | od -An -tx1 | tr -d ' \n')
asked "python3 -c 'print(16)' $token"
"$NACRE" deny "$(last)" > /dev/null
unlike 'secrets are redacted' "$("$NACRE" escalations export)" "*$token*"
asked "python3 -c 'print(17)'"
id=$(last)
"$NACRE" deny "$id" --reason first > /dev/null
refute 'what is answered is not answered again' "$NACRE" approve --yes "$id"
is 'and the record has the answer that counted' \
    "$("$NACRE" escalations --json | jq -r ".[] | select(.id == \"$id\") | .outcome, .answer.word, .answer.detail")" $'denied\nno\nfirst'
nacre escalations bogus
exits 'a wrong call' 2
check 'the ledger verifies' "$NACRE" verify

done_testing

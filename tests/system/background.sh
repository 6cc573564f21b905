#!/usr/bin/env bash
# Runs alone.
# Runs in the background: started, looked at, fed, waited for, ended; a hundred of them; and their supervisors
# killed in the middle.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
jobs_dir=$XDG_STATE_HOME/nacre/jobs
uuid='[0-9a-f]*-*-*-*-[0-9a-f]*'

# Starts one and leaves its id in $id.
start() { id=$("$NACRE" run --background "$@" 2> "$scratch/err") || not_ok "it starts: $*" "$(cat "$scratch/err")"; }
# The process that watches over the job with this text.
supervisor() { pgrep -f -- "run --background .*$1" | head -1; }
# shellcheck disable=SC2317 # called by wait_until
logs_have() { "$NACRE" logs "$1" 2> /dev/null | grep -q -- "$2"; }
status_of() { "$NACRE" history --json "$1" | jq -r .status; }

# --- one ---------------------------------------------------------------------------------------

nacre run --background 'echo out; echo err >&2; read line; echo "got $line"; echo new > file; exit 3'
exits 'it starts' 0
is 'nothing else is said to a program' "$err" ''
like 'its id is printed' "$out" "$uuid"
id=$out
check 'its output is there' wait_until 10 logs_have "$id" out
is 'logs --json of one under way' "$("$NACRE" logs --json "$id" | jq -c '[.status, .stdout]')" '["running","out\n"]'
nacre logs --json --follow "$id"
exits 'which does not follow' 2
nacre logs "${id:0:8}"
is 'on the streams that it had' "$out|$err" 'out|err'
nacre ps --json
is 'ps has it' "$(jq -r ".[] | select(.correlation_id == \"$id\") | .status" <<< "$out")" running
is 'history says that it runs' "$(status_of "$id")" running
is 'nothing of it is real yet' "$(ls)" ''
is 'its socket is for its owner alone' "$(stat -c %a "$jobs_dir" "$jobs_dir/$id" | tr '\n' ' ')" '700 600 '
nacre input "$id" hello
exits 'it is sent a line' 0
nacre wait "$id"
is 'wait has its status' "$code" 3
is 'and what it printed' "$out|$err" $'out\ngot hello|err'
is_file 'what it changed is real' file $'new\n'
nacre wait --json "$id"
is 'wait --json exits likewise, also later' "$code" 3
check 'the result' jq -e --arg id "$id" '.correlation_id == $id and .status == "failed" and .exit_code == 3
    and .stdout == "out\ngot hello\n" and .stderr == "err\n" and .changes.created == ["file"]
    and .stdout_bytes == 14 and .ledger.index > 0 and .reversible and .commit_point == "end" and .duration_ms > 0
    and .executed[0].argv[0] == "bash" and .executed[0].exit_code == 3' "$scratch/out"
nacre logs "$id"
is 'logs are there afterwards' "$out|$err" $'out\ngot hello|err'
nacre logs --json "${id:0:8}"
is 'as JSON, too' "$(jq -c --arg id "$id" '[.correlation_id == $id, .status, .stdout, .stderr, .truncated]' <<< "$out")" '[true,"failed","out\ngot hello\n","err\n",false]'
nacre ps
like 'ps has the ended one, too' "$out" "${id:0:8}  *failed*3*echo out*"
nacre ps --running
is 'but not among those that run' "$out" ''
nacre undo "$id"
exits 'it is undone like any run' 0
is 'its file is gone' "$(ls)" ''
nacre input "$id" late
complains 'nobody takes input for it any more' 1 "nacre: input: *not under way"
nacre kill "$id"
complains 'nor ends' 1 "nacre: kill: *not under way"

nacre run --background --json 'sleep 0.2; echo done'
check 'with --json' jq -e '.status == "running" and (.correlation_id | length) == 36' "$scratch/out"
id=$(jq -r .correlation_id "$scratch/out")
is 'logs --follow goes on to the end' "$("$NACRE" logs --follow "$id")" 'done'

# --- input -------------------------------------------------------------------------------------

start 'cat; echo end'
seq 200000 > "$scratch/numbers"
nacre input "$id" - < "$scratch/numbers"
exits 'much input' 0
nacre input --close "$id"
"$NACRE" wait --json "$id" > "$scratch/out"
is 'all of it came, and its end' "$(jq -r .stdout_bytes "$scratch/out")" $(($(stat -c %s "$scratch/numbers") + 4))
start 'exec 0<&-; echo closed; sleep 60'
wait_until 10 logs_have "$id" closed
nacre input "$id" x
is 'input for one that closed it does not hang' "$((code == 0 || code == 1))" 1
nacre kill "$id"
exits 'kill' 0
nacre wait "$id"
exits 'its status' 137
is 'killed, in the record' "$(status_of "$id")" killed

# --- decided as all others ---------------------------------------------------------------------

id=$("$JUDGE" run --background 'ls; true')
"$JUDGE" wait --json "$id" > "$scratch/out"
check 'the verdict is in its result' jq -e '.verdict.decision == "allow" and .verdict.rule == .policy_rule_matched and .verdict.reasons == []
    and (.verdict.mandate_hash | length) == 64' "$scratch/out"
"$JUDGE" run --background 'curl -s https://x.example' > "$scratch/out" 2> "$scratch/err"
is 'what is denied does not start' "$?|$(cat "$scratch/out")" '126|'
like 'and says why' "$(cat "$scratch/err")" 'nacre: refused: *curl*'
"$JUDGE" run --background --json 'some-unknown-thing' > "$scratch/out" 2> /dev/null
is 'what must be confirmed neither' "$? $(jq -r .status "$scratch/out")" '126 needs_confirmation'
nacre run --background --workspace /no/such 'true'
exits 'a workspace that is not there' 125
env -u HOME -u XDG_STATE_HOME "$NACRE" run --background true > /dev/null 2> "$scratch/err"
is 'no state directory, no job' "$?" 125
nacre ps extra
exits 'ps takes no words' 2
for command in logs input wait kill; do
    nacre "$command" 00000000-0000-0000-0000-000000000000 --close 2> /dev/null
    refute "$command: no such run" [ "$code" = 0 ]
    nacre "$command" '../../etc'
    refute "$command: no id at all" [ "$code" = 0 ]
done
tag=$(unique)
start --timeout 1s "sleep $tag"
nacre wait "$id"
exits 'its time limit' 124
is_gone 'after which nothing is left' "$tag"

# A terminal is shown what is harmless.
start 'printf "\033]52;c;AAAA\007x\n"; sleep 30'
wait_until 10 logs_have "$id" x
script -qec "'$NACRE' logs $id" /dev/null > "$scratch/tty" 2>&1 < /dev/null
unlike 'no escape sequence reaches a terminal' "$(cat "$scratch/tty")" $'*\e]52*'
nacre kill "$id"

# Nothing of the caller's is held on to: its pipe ends when the command has returned.
tag=$(unique)
check "the caller's pipe ends" timeout 5 bash -c "'$NACRE' run --background 'sleep $tag' 7>&1 | cat > '$scratch/id'"
check 'while the job runs' alive "sleep $tag"
id=$(cat "$scratch/id")
nacre kill "$id"
is_gone 'and is gone with its kill' "$tag"

# It survives the one who started it.
tag=$(unique)
setsid bash -c "'$NACRE' run --background 'echo up; sleep 1; echo $tag-lived' > '$scratch/id'; kill -HUP 0; kill -KILL \$\$" 2> /dev/null
nacre wait "$(cat "$scratch/id")"
like 'the death of its starter is nothing to it' "$out" "*$tag-lived"

# --- the workspace meanwhile -------------------------------------------------------------------

echo before > shared
start 'read x; echo mine > own'
echo after > shared
nacre input "$id" go
nacre wait "$id"
like 'a workspace that changed meanwhile is told' "$err" '*changed by others while this ran*'
is_file 'what it did is real' own $'mine\n'
start 'read x; echo job > shared'
echo person > shared
nacre input "$id" go
nacre wait "$id"
exits 'a conflict holds its changes' 126
is_file 'and nobody is overwritten' shared $'person\n'
start 'read x; echo 1 > one'
nacre run 'echo 2 > two'
exits 'other runs go on beside it' 0
nacre input "$id" go
nacre wait "$id"
is 'and both are real' "$code $(cat one two | tr '\n' ' ')" '0 1 2 '
rm -f shared own one two

# What the record has is without secrets.
secret=AKIA$(printf '%s' QW3RT7YU2PAS5DFG)
start "echo key=$secret; sleep 30"
wait_until 10 logs_have "$id" key=
nacre kill "$id"
is 'nothing on the disk has a secret' "$(grep -rl "$secret" "$XDG_STATE_HOME" | wc -l)" 0

# --- the inside --------------------------------------------------------------------------------

start 'sleep 30'
nacre run --read-path "$scratch" "ls -la '$jobs_dir' 2>&1; ls '$XDG_STATE_HOME/nacre' 2>&1"
unlike 'the inside never sees a socket of ours' "$out" "*$id*"
nacre kill "$id"

# --- supervisors that die ----------------------------------------------------------------------

tag=$(unique)
start "echo half > half; echo up; sleep $tag & sleep $tag"
wait_until 10 logs_have "$id" up
kill -KILL "$(supervisor "$tag")"
is_gone 'its supervisor killed: nothing is left' "$tag"
is 'history says that it was cut off' "$(status_of "$id")" 'cut off'
nacre wait "$id"
is 'wait says so, too' "$code" 125
like 'in words' "$err" '*cut off*'
nacre ps
like 'and ps' "$out" "*${id:0:8}  *cut off*"
refute 'its socket is gone' [ -e "$jobs_dir/$id" ]
nacre run 'ls'
is 'nothing of it became real' "$out" ''
nacre history --json "$id"
is 'the ledger says that it was mended' "$(jq -r '.later[0].entry.kind' <<< "$out")" recovery

# --- a hundred ---------------------------------------------------------------------------------

count=$((100 * SOAK))
tag=$(unique)
: > "$scratch/ids"
for ((i = 0; i < count; i++)); do
    case $((i % 4)) in
    0) text="yes flood-$tag" ;;                           # killed
    1) text="yes | head -c 3000000; echo end-$tag" ;;      # ends by itself
    2) text="read x; echo \$x-$tag; exit 7" ;;             # is fed
    *) text="sleep $tag & yes | head -c 200000; wait" ;;   # loses its supervisor
    esac
    start --limit cpu=600s "$text"
    echo "$id" >> "$scratch/ids"
    # Not all at once: the machine is shared.
    if ((i % 20 == 19)); then
        mapfile -t batch < <(tail -20 "$scratch/ids")
        for ((k = 0; k < 20; k += 4)); do
            "$NACRE" kill "${batch[k]}" > /dev/null || not_ok "kill ${batch[k]}"
            "$NACRE" input "${batch[k + 2]}" fed || not_ok "input ${batch[k + 2]}"
        done
        pgrep -f -- "run --background .*sleep $tag" | xargs -r kill -KILL
        for ((k = 0; k < 20; k++)); do "$NACRE" wait "${batch[k]}" > /dev/null 2>&1; done
    fi
done
is_gone 'nothing of a hundred jobs is left' "$tag"
nacre ps --running
is 'none runs' "$out" ''
is 'nor is a socket left when somebody has looked' "$(find "$jobs_dir" -type s | wc -l)" 0
"$NACRE" history --limit 0 --json > "$scratch/history"
declare -A wanted=([0]=killed [1]=ok [2]=failed [3]='cut off')
i=0
wrong=0
while read -r id; do
    status=$(jq -r --arg id "$id" '.[] | select(.correlation_id == $id) | .status' "$scratch/history")
    if [ "$status" != "${wanted[$((i % 4))]}" ]; then
        wrong=$((wrong + 1))
        echo "# $id ($((i % 4))): $status"
    fi
    i=$((i + 1))
done < "$scratch/ids"
is 'and the ledger has each of them as it ended' "$wrong" 0
nacre verify
exits 'the ledger is whole' 0
nacre run true # clears up behind those that were cut off

done_testing

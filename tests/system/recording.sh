#!/usr/bin/env bash
# shellcheck disable=SC2016,SC2317 # texts for another shell are in single quotes
# Every decision and every run is in the ledger, without secrets; what cannot be recorded is not real.
# shellcheck source-path=SCRIPTDIR source=../lib.sh
. "$STAGE/tests/lib.sh"

verify=${JUDGE%/*}/nacre-verify
ledger=$XDG_STATE_HOME/nacre/ledger
here=$PWD

# All entries, one a line, in their order.
entries() { cat "$ledger"/segment/* | python3 -c '
import re, sys
data = sys.stdin.buffer.read()
for found in re.finditer(rb"\{\"[ -~]*?\"v\":1[ -~]*?\}(?=[^ -~]|$|.)", data):
    text = found.group(0).decode()
    # A record ends where its braces do.
    depth = 0
    quoted = escaped = False
    for at, byte in enumerate(text):
        if quoted:
            quoted = not (byte == "\"" and not escaped)
            escaped = byte == "\\" and not escaped
        elif byte == "\"":
            quoted = True
            escaped = False
        elif byte in "{}":
            depth += 1 if byte == "{" else -1
            if depth == 0:
                print(text[:at + 1])
                break
'; }
last() { entries | tail -1; }
good() { check "$1: the ledger verifies" "$verify" "$ledger"; }

# --- what is recorded -------------------------------------------------------------------------

JUDGED() { "$JUDGE" "$@" > "$scratch/out" 2> "$scratch/err"; code=$?; }
JUDGED run --json 'echo hello; echo oops >&2'
is 'a run' "$code" 0
is 'two entries and the policy' "$(entries | jq -r .kind | tr '\n' ' ')" 'policy intent result '
is 'the result says where it stands' "$(jq -r .ledger.index "$scratch/out")" 2
is 'with its hash' "$(jq -r .ledger.hash "$scratch/out")" \
    "$( (printf '\0'; last | tr -d '\n') | sha256sum | cut -d' ' -f1)"
is 'intent and result are of one run' "$(entries | jq -r 'select(.id).id' | sort -u)" \
    "$(jq -r .correlation_id "$scratch/out")"
is 'the result knows its intent' "$(last | jq .intent)" 1
check 'and everything else' jq -e '.status == "ok" and .exit_code == 0 and .verdict == "allow"
    and (.mandate_hash | length) == 64 and (.fs_hash_before | length) == 64 and .fs_hash_after == .fs_hash_before
    and .command == "echo hello; echo oops >&2" and .working_dir == "'"$here"'"
    and .output.stdout.bytes == 6 and .resource_usage.processes_peak == 1' <(last)
is 'output has its order' "$(last | jq -r .output.frames | sed -n 's/^\([12]\) [0-9]* [0-9]*$/\1/p' | tr -d '\n')" 12
is 'the policy can be read' "$(zstd -dcq "$XDG_STATE_HOME/nacre/objects/$(entries | head -1 | jq -r '.object | .[:2] + "/" + .[2:]').zst" |
    sha256sum | cut -d' ' -f1)" "$(entries | head -1 | jq -r .mandate_hash)"

JUDGED run 'curl x'
is 'a refusal' "$code" 126
check 'is recorded, too' jq -e '.kind == "result" and .status == "denied" and .verdict == "deny" and .rule == "deny: curl"
    and (has("intent") | not) and .reasons[0].rule == "deny: curl"' <(last)
JUDGED run 'nosuchcommand x'
check 'a question that nobody answered' jq -e '.status == "needs_confirmation" and .verdict == "confirm"' <(last)
JUDGED run 'if'
check 'a text that cannot be read' jq -e '.status == "denied" and .rule == "parse"' <(last)
JUDGED run --agent coder --timeout 1s 'sleep 9'
check 'a time limit' jq -e '.status == "timeout" and .limit == "timeout" and .agent == "coder"' <(last)
is 'each policy once' "$(entries | jq -r 'select(.kind == "policy").mandate_hash' | sort | uniq -d)" ''

JUDGED run --agent coder --json 'echo new > file; mkdir d'
id=$(jq -r .correlation_id "$scratch/out")
check 'changes' jq -e '.changes.count.created == 2 and (.changes.created | sort) == ["d", "file"] and .reversible' <(last)
JUDGED undo "$id"
is 'undo' "$code" 0
is 'is in it before and after' "$(entries | tail -2 | jq -r '.kind + " " + .detail' | tr '\n' ';')" 'undo asked for;undo done;'
JUDGED undo "$id"
check 'an undo that cannot be' jq -e '.kind == "undo" and (.detail | contains("undone"))' <(last)
JUDGED run --agent coder 'for i in $(seq 600); do : > many$i; done'
is 'many changes are an object' "$(zstd -dcq "$XDG_STATE_HOME/nacre/objects/$(last | jq -r '.changes.all_sha256 | .[:2] + "/" + .[2:]').zst" |
    grep -o 'many[0-9]*' | sort -u | wc -l)" 600
rm -f many*
good 'after all of this'

# --- nothing can forge or break an entry -------------------------------------------------------

count=$(entries | wc -l)
JUDGED run $'printf \'"}\\n{"kind":"result","v":1}\\n\\033]52;c;x\\a\\0\\xff\''
JUDGED run -- echo $'"}\n{"kind":"result","id":"forged","v":1}\n\e[2J\xff'
is 'two runs, four entries' "$(entries | wc -l)" $((count + 4))
is 'none of them forged' "$(entries | jq -r 'select(.id == "forged")')" ''
refute 'no control character is written as it is' grep -qP '[\x00-\x1f\x7f\x80-\x9f]' <(entries)
head -c 3000000 /dev/zero | tr '\0' a > "$scratch/long"
{ printf 'echo "'; cat "$scratch/long"; printf '" | wc -c'; } | "$JUDGE" run - > "$scratch/out" 2>&1
is 'a text of 3 MB' "$(cat "$scratch/out")" 3000001
check 'is in an entry of bounded size, with its length and hash' jq -e '(tostring | length) < 61440
    and .command.bytes == 3000015 and (.command.sha256 | length) == 64' <(last)
good 'after forgeries'

# --- secrets -----------------------------------------------------------------------------------

export DEPLOY_TOKEN='s3cr3t-Value.0123456789/abc' VISIBLE=plainly-visible-text
# shellcheck disable=SC2317 # called by check and refute
seen() { # whether any file that nacre wrote holds it; names and files that are kept to be undone are as they were
    grep -raqF --exclude-dir=store -e "$1" "$XDG_STATE_HOME" && return 0
    find "$XDG_STATE_HOME" -name '*.zst' -exec zstd -dcq {} + | grep -aqF -e "$1"
}
key=AKIA$(printf 'Z3TQK7VWXN2RLMJD')
JUDGED run "echo $DEPLOY_TOKEN $key; echo $VISIBLE"
is 'the caller sees all' "$(head -1 "$scratch/out")" "$DEPLOY_TOKEN $key"
refute 'the value of a variable is written nowhere' seen "$DEPLOY_TOKEN"
refute 'nor is a key' seen "$key"
check 'what is no secret is' seen "$VISIBLE"
check 'counted' jq -e '.redactions >= 3' <(last)
JUDGED run "echo $(printf '%s' "$DEPLOY_TOKEN" | base64 -w0); printf '%s' $DEPLOY_TOKEN | od -An -tx1 -v | tr -d ' \\n'"
refute 'nor in base64' seen "$(printf '%s' "$DEPLOY_TOKEN" | base64 -w0)"
refute 'nor in hexadecimal' seen "$(printf '%s' "$DEPLOY_TOKEN" | od -An -tx1 -v | tr -d ' \n')"
JUDGED run "cat /nowhere/$DEPLOY_TOKEN; ls $DEPLOY_TOKEN"
refute 'nor in an error' seen "$DEPLOY_TOKEN"
JUDGED run --agent coder "echo x > $key.txt; mkdir -p a/$key/b"
refute 'nor as the name of a file in the ledger' grep -raqF "$key" "$ledger" "$XDG_STATE_HOME/nacre/objects"
rm -rf a "$key.txt"
JUDGED run --workspace "$here" "x=$DEPLOY_TOKEN; nosuch"
refute 'nor in what was refused' seen "$DEPLOY_TOKEN"
printf 'API_PASSWORD="pa55-in-a-file.98765"\nPORT=8080\n' > .env
JUDGED run 'echo pa55-in-a-file.98765 8080'
refute 'nor the value of a file of secrets' seen pa55-in-a-file.98765
check 'what else is in it is' seen 8080
rm .env
# What the inside writes into such a file blackens neither commands nor places.
printf 'B_TOKEN=cat notes.txt\nC_TOKEN=%s\n' "$here" > .env.test
echo text > notes.txt
JUDGED run 'cat notes.txt'
is 'words and paths in it count for nothing' "$(last | jq -r '.command + " " + .workspace')" "cat notes.txt $here"
mkdir -p "$scratch/home/.aws"
printf '[default]\naws_secret_access_key = h0me-Secret-Value-31415926\n' > "$scratch/home/.aws/credentials"
for i in $(seq 1500); do echo "T${i}_TOKEN=filler-value-number-$i-xyz"; done > .env.test
HOME=$scratch/home JUDGED run 'echo h0me-Secret-Value-31415926'
refute 'and many of them leave none of the home without cover' seen h0me-Secret-Value-31415926
rm .env.test notes.txt
printf 'shell: {allow: ["frobnicate --token=%s"]}\n' "$key" > "$scratch/rule.yaml"
JUDGED run --config "$scratch/rule.yaml" "frobnicate --token=$key"
refute 'nor in a rule' seen "$key"
head -c 4300000 /dev/zero | tr '\0' x | "$JUDGE" run - > "$scratch/out" 2>&1
check 'a text that is too long to be read is refused, and recorded' jq -e '.status == "denied" and .rule == null and (.error | contains("bytes"))' <(last)
# At every place relative to the pieces in which output comes.
for shift in 0 1 7 63 64 65 1000 4090 4095 4096 65530 65535 65536; do
    JUDGED run "head -c $shift /dev/zero | tr '\\0' .; printf '\\n'; printf '%s' '${key:0:9}'; sleep 0.02; echo '${key:9}'; echo end-$shift"
done
refute 'across pieces' seen "$key"
check 'with all that stands around it' seen end-65536
printf 'redact: all\n' > "$scratch/all.yaml"
JUDGED run --config "$scratch/all.yaml" "echo $key; echo plain"
is 'redact: all hides it from the caller, too' "$(cat "$scratch/out")" $'[REDACTED:aws-access-key]\nplain'
JUDGED run --json --config "$scratch/all.yaml" "printf '${key:0:7}'; sleep 0.05; echo '${key:7}' >&1"
is 'in JSON' "$(jq -r .stdout "$scratch/out")" '[REDACTED:aws-access-key]'
printf 'redact: all\nredact_as: "[REDACTED]"\n' > "$scratch/as.yaml"
JUDGED run --config "$scratch/as.yaml" "echo $key; echo plain"
is 'the text in its place is configurable' "$(cat "$scratch/out")" $'[REDACTED]\nplain'
is 'in the record, too' "$(last | jq -r .command)" 'echo [REDACTED]; echo plain'
unset DEPLOY_TOKEN VISIBLE
good 'after secrets'

# --- secrets in what git tracks ----------------------------------------------------------------

git -c init.defaultBranch=main init -q repo && cd repo || exit 1
echo start > tracked && git add tracked
JUDGED run --agent coder --json "echo key=$key > tracked; echo key=$key > untracked"
check 'a key in a tracked file is held' jq -e '.status == "needs_confirmation" and .policy_rule_matched == "secret"' "$scratch/out"
is 'and is not real' "$(cat tracked)" start
JUDGED discard "$(jq -r .correlation_id "$scratch/out")"
JUDGED run --agent coder --json "echo key=$key > untracked"
is 'in one that git does not know it is' "$(cat untracked)" "key=$key"
JUDGED run --agent coder --json "git add untracked; echo more >> untracked"
check 'nor is what was there before' jq -e '.status == "ok"' "$scratch/out"
cd "$here" && rm -rf repo

# --- what cannot be recorded is not real -------------------------------------------------------

cd "$here" || exit 1
# When the intent is on the disk: with the result of a run that was soon over and changed nothing, before its changes of one
# that did, and while it lasts of one that does.
order() { # TEXT: what is done to the ledger and the workspace, in order
    strace -y -o "$scratch/trace" -e trace=fdatasync,renameat2 "$JUDGE" run --agent coder "$1" > /dev/null 2>&1
    sed -n -E -e 's|^fdatasync\([0-9]+<.*/ledger/.*|ledger|p' -e "s|^renameat2\(.*, [0-9]+<$here>, \"kept\".*|real|p" \
        "$scratch/trace" | uniq | paste -sd' '
}
once() { [ "$(order true)" = ledger ] && [ "$(grep -c '^fdatasync.*/ledger/' "$scratch/trace")" = 1 ]; }
check 'a short run that changes nothing: one sync of the ledger' wait_until 20 once # under strace not each is short
is 'one that does: before it is real, and after' "$(order 'echo x > kept')" 'ledger real ledger'
rm -f kept
order 'sleep 0.3' > /dev/null
is 'one that lasts: meanwhile, and after' "$(grep -c '^fdatasync.*/ledger/' "$scratch/trace")" 2

syncs() { # how many times a run syncs
    strace -o "$scratch/trace" -e trace=fdatasync,fsync,syncfs "$JUDGE" run --agent coder "echo x > synced; rm synced; echo y > kept" > /dev/null 2>&1
    grep -cE '^(fdatasync|fsync|syncfs)' "$scratch/trace"
}
JUDGED run --agent coder 'true' # so that no policy is new
total=$(syncs)
check "a run syncs a few times ($total)" test "$total" -ge 2
rm -f kept
for n in $(seq "$total"); do
    strace -o /dev/null -e trace=fdatasync,fsync,syncfs -e inject=fdatasync,fsync,syncfs:error=EIO:when="$n" \
        "$JUDGE" run --json --agent coder "echo x > synced; rm synced; echo y > kept" > "$scratch/out" 2> "$scratch/err"
    status=$(jq -r .status "$scratch/out")
    if [ -e kept ]; then was=real; else was=not; fi
    # Where the disk failed behind the last rename, it is real and is told to be so.
    if [ "$status,$was" = error,real ] && jq -e '.error | contains("the changes are real")' "$scratch/out" > /dev/null; then was=told; fi
    case $status,$was in
    ok,real | error,told | error,not | needs_confirmation,not) ok "sync $n fails: $status, and nothing half" ;;
    *) not_ok "sync $n fails" "status $status, the file is $was" "$(cat "$scratch/err")" ;;
    esac
    rm -f kept
    "$JUDGE" run true > /dev/null 2>&1 # what was cut off is finished or removed
    if [ "$was" = not ]; then refute "sync $n fails: nor is it real later" test -e kept; fi
    rm -f kept
    for held in "$XDG_STATE_HOME"/nacre/runs/*; do [ -L "$held" ] && "$JUDGE" discard "${held##*/}" > /dev/null 2>&1; done
done
JUDGED run --agent coder 'echo y > kept'
is 'afterwards all is well' "$code $(cat kept)" '0 y'
rm kept
good 'after failing syncs'

chmod 500 "$ledger/segment" 2> /dev/null
if [ "$(id -u)" -ne 0 ]; then
    chmod 400 "$ledger"/segment/*
    JUDGED run --agent coder --json 'echo z > never'
    check 'a ledger that cannot be written' jq -e '.status == "error" and (.error | startswith("cannot record"))' "$scratch/out"
    refute 'lets nothing happen' test -e never
    chmod 600 "$ledger"/segment/*
fi
chmod 700 "$ledger/segment"
if [ "$(id -u)" -eq 0 ]; then
    mkdir "$scratch/small"
    unshare -m bash -c 'mount -t tmpfs -o size=1m small "$1" && export XDG_STATE_HOME=$1 && "$2" run true &&
        { head -c 10M /dev/zero > "$1/fill"; "$2" run --agent coder --json "echo z > never" > "$3"; [ ! -e never ]; } &&
        rm "$1/fill" && "$2" run --agent coder "echo z > later" && "$4" "$1/nacre/ledger"' \
        - "$scratch/small" "$JUDGE" "$scratch/full" "$verify" > "$scratch/out" 2> "$scratch/err"
    is 'a full disk: nothing real, and well after it' $? 0
    check 'with the reason' jq -e '.status == "error" and (.error | contains("No space left"))' "$scratch/full"
    rm -f later
fi

# --- a crash is visible ------------------------------------------------------------------------

before=$(entries | wc -l)
"$JUDGE" run --agent coder 'echo begun > crashed; sleep 30' > /dev/null 2>&1 &
pid=$!
for _ in $(seq 100); do [ "$(entries | wc -l)" -gt "$before" ] && break; sleep 0.05; done
sleep 0.3
kill -9 "$pid"
wait "$pid" 2> /dev/null || true
check 'killed: the intent stands alone' jq -e '.kind == "intent" and .command == "echo begun > crashed; sleep 30"' <(last)
refute 'and nothing of it is real' test -e crashed
JUDGED run true
is 'the next run is as ever' "$code" 0
check 'and tells what became of the other' jq -e '.kind == "recovery" and (.detail | contains("removed"))' <(entries | tail -3 | head -1)
good 'after a crash'

# --- the state directory -----------------------------------------------------------------------

env -u XDG_STATE_HOME HOME=/nowhere "$JUDGE" run 'echo x' > "$scratch/out" 2> "$scratch/err"
is 'without a state directory it runs' "$(cat "$scratch/out")" x
like 'and says that it is not recorded' "$(cat "$scratch/err")" '*not recorded*'
is 'key and ledger are the owner'"'"'s alone' "$(stat -c %a "$ledger" "$ledger/key" | tr '\n' ' ')" '700 600 '

# Every checkpoint goes where the user says, and a project cannot say where.
printf 'ledger: {send: ["file:%s/sent"]}\n' "$scratch" > "$scratch/send.yaml"
JUDGED run --config "$scratch/send.yaml" 'true'
check 'checkpoints are sent on' grep -q '^nacre/ledger/' "$scratch/sent"
check 'and hold the ledger to them' "$verify" --checkpoint "$scratch/sent" "$ledger"
mkdir -p project/.nacre
printf 'ledger: {send: ["command:touch /tmp/never"]}\n' > project/.nacre/config.yaml
JUDGED run --workspace project true
is 'a project cannot name a command' "$code" 125
like 'and is told' "$(cat "$scratch/err")" '*ledger.send*'

# --- replay ------------------------------------------------------------------------------------

mkdir "$scratch/empty" work && cd work || exit 1
replay() { "$JUDGE" replay "$@" > "$scratch/out" 2> "$scratch/err"; code=$?; }
JUDGED run --agent coder 'echo one > a; pwd'
JUDGED run --agent coder 'echo two >> a; cat a; exit 3'
JUDGED run --agent coder 'mkdir -p d; mv a d/b; ln -s d/b l; ls -1'
JUDGED run 'curl x'
replay --start "$scratch/empty"
is 'replay: all the same' "$code $(cut -d' ' -f2 "$scratch/out" | sort | uniq -c | tr -s ' ' | tr '\n' ';')" '0  3 same; 1 skipped;'
is 'the workspace is not touched' "$(cat d/b)" $'one\ntwo'
replay
is 'it began with nothing, which needs no --start' "$code" 0
replay "$(entries | jq -r 'select(.kind == "result" and .exit_code == 3).id').."
is 'the start of a later one is nowhere' "$code" 1
like 'and it says what to do' "$(cat "$scratch/err")" '*--start*'
JUDGED run --agent coder 'date +%s%N > time'
JUDGED run --agent coder 'echo after > after'
replay --start "$scratch/empty"
is 'replay stops at the first difference' "$code $(tail -1 "$scratch/out" | grep -c after) $(grep -c 'differs' "$scratch/out")" '1 0 1'
like 'and shows it' "$(cat "$scratch/out")" '*fs_hash*recorded*now*'
replay --start "$scratch/empty" --json
is 'in JSON' "$(jq -r .outcome "$scratch/out" | tr '\n' ' ')" 'same same same skipped differs '
first=$(entries | jq -r 'select(.kind == "result" and (.workspace | endswith("/work")) and .command == "echo one > a; pwd").id')
replay --start "$scratch/empty" "$first..$first"
is 'a range' "$code $(wc -l < "$scratch/out")" '0 1'
replay --start "$scratch/empty" nosuch..
is 'one that is not there' "$code" 1
check 'nothing is left of it' test -z "$(find /tmp -maxdepth 1 -user "$(id -un)" -name 'nacre-replay-*' 2> /dev/null)"
mkdir "$here/elsewhere" "$here/outside" && cd "$here/elsewhere" || exit 1
JUDGED run --agent coder --write-path "$here/outside" "echo once | tee -a $here/outside/log"
is 'control: a listed path is written to' "$(cat "$here/outside/log")" once
echo precious > "$here/outside/log"
printf 'paths: {write: [%s]}\n' "$here/outside" > "$scratch/write.yaml"
replay --start "$scratch/empty" --config "$scratch/write.yaml"
is 'replay writes to nothing but its copy' "$(cat "$here/outside/log")" precious
JUDGED run -w :memory: --agent coder --write-path "$here/outside" "echo mem >> $here/outside/log"
is 'nor does a workspace in memory make what has no layer writable' "$code $(cat "$here/outside/log")" '125 precious'
mkdir "$here/steady" && cd "$here/steady" || exit 1
JUDGED run --agent coder --deterministic 'python3 -c "print(hash(\"x\"))" > h; echo $TZ; grep -o "^[0-9a-f]*" /proc/self/maps | head -1'
replay --start "$scratch/empty" --deterministic
is 'deterministic: seeds, addresses and time zone are the same' "$code" 0
cd "$here" || exit 1

done_testing

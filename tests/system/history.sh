#!/usr/bin/env bash
# The record of runs: history in all its formats, stats, verify, prove.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
export TZ=UTC
state=$XDG_STATE_HOME/nacre
mkdir -p "$state"
chmod 700 "$XDG_STATE_HOME" "$state"
nacre() { # ARGS…: runs it; $out, $err, $code
    "$JUDGE" "$@" > "$scratch/out" 2> "$scratch/err"
    code=$?
    out=$(cat "$scratch/out") err=$(cat "$scratch/err")
}
record() { "$TOOLS/history" "$1" "$state" "${@:2}"; }
field() { printf '%s' "$out" | jq -r "$1"; }

# --- nothing yet -------------------------------------------------------------------------------

nacre history
prints 'no runs' ''
nacre history --json
prints 'no runs in JSON' '[]'
nacre history 1
complains 'no such run' 1 'nacre: history: nothing is recorded yet'
nacre stats --json
is 'figures of nothing' "$(field .runs)" 0
nacre verify
complains 'nothing to verify' 1 'nacre: verify: *cannot open*'
nacre prove 1
complains 'nothing to prove' 1 'nacre: prove: nothing is recorded yet'

# --- some runs ---------------------------------------------------------------------------------

a=11111111-0000-4000-8000-000000000001
b=22222222-0000-4000-8000-000000000002
c=33333333-0000-4000-8000-000000000003
is 'indices of a run' "$(record run id=$a time=2026-01-02T03:04:05.678Z agent=coder command='git status' \
    status=ok verdict=allow exit_code=0 duration_ms=12 workspace=/ws created=src/a.c renamed=old:new \
    stdout=$'hello\n' stderr=$'5@oops\n* star\n#+end_example\n' stdout='7@end' program=git)" '0 1'
is 'indices of another' "$(record run id=$b time=2026-01-02T04:04:05.678Z agent=writer job=job_1 \
    command=$'rm -rf /\n\e[2Jx' status=denied verdict=deny rule=blocklist:rm reason='removes the system')" '2 3'
is 'index of an undo' "$(record undo id=$a time=2026-01-02T05:04:05.678Z detail='taken back')" 4
is 'index of an intent' "$(record intent id=$c time=2026-01-02T06:04:05.678Z agent=coder command='sleep 9')" 5

nacre history
prints 'one line a run, newest first' "33333333  2026-01-02 06:04:05  cut off      -          -  sleep 9
22222222  2026-01-02 04:04:05  denied       -          -  rm -rf /\\n\\x1b[2Jx
11111111  2026-01-02 03:04:05  ok           0      12 ms  git status"
for filter in '--agent writer' '--job job_1' '--status denied' '--verdict deny' '--text -rf' '--limit 1 --before 5' \
    '--since 2026-01-02T03:30:00Z --until 2026-01-02T05:00:00Z'; do
    # shellcheck disable=SC2086 # several words
    nacre history $filter
    like "history $filter" "$out" '22222222 *rm -rf*'
    is "history $filter: only that" "$(wc -l < "$scratch/out")" 1
done
for path in src/a.c src/ new old /ws/src/a.c; do
    nacre history --path "$path"
    is "history --path $path" "${out:0:8}" 11111111
done
nacre history --path src
prints 'a path is the whole of it' ''
nacre history --status 'cut off' --json
is 'cut off, as a status' "$(field '.[].correlation_id')" $c
nacre history --since 1h
prints 'nothing of late' ''

# --- one of them -------------------------------------------------------------------------------

nacre history 1111
hash=$(printf '%s\n' "$out" | sed -n 's/^ledger.*hash //p')
intent=$(printf '%s\n' "$out" | sed -n 's/.*intent: entry 0, hash //p')
is 'the hash is that of the leaf' "$hash" \
    "$("$TOOLS/ledger" list "$state/ledger" 1 | sed -n '1s/^1 //p' |
        python3 -c 'import hashlib; print(hashlib.sha256(b"\0" + bytes.fromhex(input())).hexdigest())')"
is 'everything about one run' "$out" "run         $a
time        2026-01-02T03:04:05.678Z
command     git status
status      ok
exit code   0
duration    12 ms
verdict     allow
agent       coder
workspace   /ws
programs    git  (exit code 0)
changes     1 created, 1 renamed
            created  src/a.c
            renamed  old -> new
output      9 B of stdout, 26 B of stderr
  | hello
  ! oops
  ! * star
  ! #+end_example
  | end
ledger      entry 1, hash $hash
            intent: entry 0, hash $intent
later       undo 2026-01-02T05:04:05.678Z, entry 4: taken back"
nacre history 1
like 'by the index of its result' "$out" "run         $a"*
nacre history 4
like 'by the index of its undo' "$out" "run         $a"*
nacre history $b
like 'its reasons' "$out" '*verdict     deny by blocklist:rm
            rule: removes the system*'
check 'nothing for a terminal to obey' grep -qFx '            \x1b[2Jx' "$scratch/out"
nacre history 4444
complains 'no such run' 1 "nacre: history: there is no run '4444'"

nacre history --json 1111
is 'JSON: its status' "$(field .status)" ok
is 'JSON: its entry' "$(field .result.entry.command)" 'git status'
is 'JSON: its intent' "$(field .intent.index)" 0
is 'JSON: its output' "$(field .output.stdout)" $'hello\nend'
is 'JSON: frames' "$(field '.output.frames | map(.stream + " " + (.ms | tostring)) | join(",")')" \
    'stdout 0,stderr 5,stdout 7'
is 'JSON: later' "$(field '.later[0].entry.kind')" undo
nacre history --json 9999
is 'JSON: no such run' "$code $(field .status)" '1 error'

nacre history --format markdown
prints 'markdown: a list' '| run | time | status | exit code | duration | command |
|---|---|---|---|---|---|
| 33333333 | 2026-01-02 06:04:05 | cut off | - | - | sleep 9 |
| 22222222 | 2026-01-02 04:04:05 | denied | - | - | rm \-rf /\\n\\x1b\[2Jx |
| 11111111 | 2026-01-02 03:04:05 | ok | 0 | 12 ms | git status |'
nacre history --format markdown 1111
prints 'markdown: one run' "## git status (exit code 0)

| | |
|---|---|
| run | ${a//-/\\-} |
| time | 2026\\-01\\-02T03:04:05\\.678Z |
| status | ok |
| verdict | allow |
| agent | coder |
| workspace | /ws |
| duration | 12 ms |
| changes | 1 created, 1 renamed |
| ledger entry | 1 |
| entry hash | $hash |

\`\`\`sh
git status
\`\`\`

stdout:

\`\`\`
hello
end
\`\`\`

stderr:

\`\`\`
oops
* star
#+end_example
\`\`\`"

nacre history --format org 1111
prints 'org: one run' "* git status (exit code 0)
:PROPERTIES:
:RUN: $a
:TIME: 2026-01-02T03:04:05.678Z
:STATUS: ok
:VERDICT: allow
:AGENT: coder
:WORKSPACE: /ws
:DURATION: 12 ms
:CHANGES: 1 created, 1 renamed
:LEDGER_ENTRY: 1
:ENTRY_HASH: $hash
:END:
#+begin_src sh
git status
#+end_src
stdout:
#+begin_example
hello
end
#+end_example
stderr:
#+begin_example
oops
,* star
,#+end_example
#+end_example"
nacre history --format org --limit 1
prints 'org: a list' "* sleep 9 (cut off)
:PROPERTIES:
:RUN: $c
:TIME: 2026-01-02T06:04:05.678Z
:STATUS: cut off
:END:"

nacre history --format asciicast 1111
prints 'asciicast' '{"version":2,"width":80,"height":24,"timestamp":1767323045,"command":"git status","title":"'$a'"}
[0.000, "o", "hello\r\n"]
[0.005, "o", "oops\r\n* star\r\n#+end_example\r\n"]
[0.007, "o", "end"]'
check 'asciicast: each line is JSON' jq -e . "$scratch/out"

# --- output that is an object ------------------------------------------------------------------

d=44444444-0000-4000-8000-000000000004
object=$(printf '1 0 4\nlong\n' | record object)
record run id=$d time=2026-01-02T07:00:00.000Z command=long status=failed verdict=allow exit_code=3 limit=memory \
    duration_ms=40 agent='a"\b' object="$object" > "$scratch/indices"
nacre history 4444
like 'output from an object' "$out" $'*\n  | long\n*'
nacre verify
exits 'verify: good' 0
like 'verify: objects' "$out" '*objects: 1 good, 0 damaged, 0 not kept any more*'
cp -r "$state/objects" "$scratch/objects"
echo x >> "$state/objects/${object:0:2}/${object:2}.zst"
nacre verify
exits 'verify: a damaged object' 1
like 'verify: which' "$out" "damaged: entry 7: object $object is damaged"*
nacre verify --json
is 'verify: in JSON' "$(field '"\(.good) \(.objects.damages[0].index) \(.damage_count)"')" 'false 7 0'
nacre history 4444
exits 'the rest is shown all the same' 0
like 'with why' "$out" "*object $object is damaged*"
rm -r "$state/objects"
nacre verify
like 'verify: an object that is not kept' "$out" 'good: 8 entries*objects: 0 good, 0 damaged, 1 not kept any more'*
exits 'verify: is no damage' 0
mv "$scratch/objects" "$state/objects"

# --- figures -----------------------------------------------------------------------------------

nacre stats
prints 'stats' "runs        4
entries     8
changes     2
by status          1  denied
                   1  failed
                   1  ok
                   1  cut off
by verdict         2  allow
                   1  deny
denied by          1  blocklist:rm
limits hit         1  memory
by agent           2  coder
                   1  a\"\\b
                   1  writer
duration    p50 12 ms
            p90 40 ms
            p99 40 ms
            max 40 ms"
nacre stats --json
is 'stats in JSON' "$(field '[.runs, .status.ok, .verdict.allow, .limits.memory, .duration_ms.p90, .duration_ms.sum] | join(" ")')" \
    '4 1 2 1 40 52'
nacre stats --since 2026-01-02T06:30:00Z --json
is 'stats since' "$(field .runs)" 1
nacre stats --format prometheus
check 'prometheus: a label is quoted' grep -qFx 'nacre_agent_runs_total{agent="a\"\\b"} 1' "$scratch/out"
# What promtool would check: every line, one TYPE before its samples, no sample twice.
# shellcheck disable=SC2317 # called by another
valid() {
    python3 - "$scratch/out" << 'EOF'
import re, sys
sample = re.compile(r'^([a-zA-Z_:][a-zA-Z0-9_:]*)(\{([a-zA-Z_]\w*="(\\[\\"n]|[^\\"\n])*"(,[a-zA-Z_]\w*="(\\[\\"n]|[^\\"\n])*")*)\})? (\d+(\.\d+)?)$')
types, seen, current = {}, set(), None
text = open(sys.argv[1], encoding="utf-8").read()
assert text.endswith("\n")
for line in text[:-1].split("\n"):
    m = re.match(r'^# (HELP|TYPE) (\S+) (.+)$', line)
    if m:
        if m[1] == "TYPE":
            assert m[2] not in types and m[3] in ("counter", "gauge", "summary"), line
            types[m[2]] = m[3]
        current = m[2]
        continue
    m = sample.match(line)
    assert m, line
    family = re.sub(r"_(sum|count)$", "", m[1]) if types.get(current) == "summary" else m[1]
    assert family == current and types[family], line
    assert types[family] != "counter" or family.endswith("_total"), line
    assert line.rsplit(" ", 1)[0] not in seen, line
    seen.add(line.rsplit(" ", 1)[0])
assert len(seen) >= 12
EOF
}
check 'prometheus: valid' valid

# --- proofs ------------------------------------------------------------------------------------

nacre prove 1111 -o "$scratch/proof" --entry "$scratch/entry"
prints 'prove' ''
check 'a stranger verifies it with the key alone' \
    "$(dirname "$JUDGE")/nacre-verify" --key "$state/ledger/key.pub" --proof "$scratch/proof" --entry "$scratch/entry"
is 'it is about the result' "$(jq -r '.kind + " " + .id' "$scratch/entry")" "result $a"
nacre prove 1111 --json
is 'prove --json: the same proof, with the bytes that it is about' \
    "$(jq -r '.correlation_id | length' <<< "$out") $(jq -j .entry <<< "$out" | cmp - "$scratch/entry") $(jq -j .proof <<< "$out" | cmp - "$scratch/proof")" '36  '
sed -i 's/git status/git statuX/' "$scratch/entry"
refute 'not of another entry' \
    "$(dirname "$JUDGE")/nacre-verify" --key "$state/ledger/key.pub" --proof "$scratch/proof" --entry "$scratch/entry"
nacre prove 3333
exits 'an intent can be proved, too' 0
like 'its proof' "$out" 'c2sp.org/tlog-proof@v1*'

# --- checkpoints and keys ----------------------------------------------------------------------

"$TOOLS/ledger" checkpoint "$state/ledger" > "$scratch/checkpoint"
cp "$state/ledger/key.pub" "$scratch/key"
cp -r "$state/ledger" "$scratch/old"
record run id=55555555-0000-4000-8000-000000000005 time=2026-01-02T08:00:00.000Z command=new status=ok > /dev/null
nacre verify --key "$scratch/key" --checkpoint "$scratch/checkpoint"
exits 'verify: extends what was kept elsewhere' 0
"$TOOLS/ledger" checkpoint "$state/ledger" > "$scratch/checkpoint"
nacre history --limit 1
is 'the new run' "${out:0:8}" 55555555
mv "$state/ledger" "$scratch/new"
mv "$scratch/old" "$state/ledger"
nacre verify
exits 'verify: an old copy looks good by itself' 0
nacre verify --checkpoint "$scratch/checkpoint" --key "$scratch/key"
exits 'verify: but not beside a checkpoint' 1
nacre history --limit 1
is 'the index follows the ledger back' "${out:0:8}" 44444444
rm -r "$state/ledger"
mv "$scratch/new" "$state/ledger"
nacre history --limit 1
is 'and forward' "${out:0:8}" 55555555
printf 'x' | dd of="$(find "$state/ledger/segment" -type f | head -1)" bs=1 seek=300 conv=notrunc status=none
nacre verify
exits 'verify: damage' 1
like 'verify: where' "$out" 'damaged: entry *NOT GOOD*'
rm -r "$state"
mkdir -m 700 "$state"

# --- as it happens -----------------------------------------------------------------------------

record run id=$a time=2026-01-02T03:04:05.678Z command=first status=ok exit_code=0 > /dev/null
"$JUDGE" history --follow --json > "$scratch/followed" 2>&1 &
follower=$!
# shellcheck disable=SC2317 # called by another
lines() { [ "$(wc -l < "$scratch/followed")" -ge "$1" ]; }
check 'follow: what is there' wait_until 10 lines 1
record intent id=$c time=2026-01-02T04:00:00.000Z command=begun > /dev/null
record run id=$b time=2026-01-02T04:04:05.678Z command=second status=ok exit_code=0 > /dev/null
check 'follow: what comes' wait_until 10 lines 2
is 'follow: each once, as it ends' "$(jq -r .command "$scratch/followed" | tr '\n' ' ')" 'first second '
kill $follower
wait $follower 2> /dev/null

mkfifo "$scratch/end"
record hold id=$d time=2026-01-02T05:00:00.000Z command=long < "$scratch/end" > "$scratch/held" &
holder=$!
exec 7> "$scratch/end"
# shellcheck disable=SC2317 # called by another
held() { [ -s "$scratch/held" ]; }
wait_until 10 held
nacre history --limit 1
like 'a run that is under way' "$out" '44444444  2026-01-02 05:00:00  running *'
nacre history --status running --json
is 'by that status' "$(field length)" 1
exec 7>&-
wait $holder
nacre history --limit 1
like 'whose process is gone' "$out" '44444444  2026-01-02 05:00:00  cut off *'

# --- wrong calls -------------------------------------------------------------------------------

nacre history --since yesterday
complains 'no time' 2 "nacre: history: --since is a time such as *"
nacre history --limit many
complains 'no number' 2 "nacre: history: --limit is a number, not 'many'"
nacre history --format asciicast
complains 'asciicast of a list' 2 '*asciicast is for one run*'
nacre history --json --format org
complains 'two formats' 2 '*only one of --json and --format'
nacre history a b
complains 'two runs' 2 '*one run at a time'
nacre history --text x 1
complains 'a filter with an ID' 2 '*filters and --follow are for lists'
nacre stats x
complains 'stats of something' 2 '*takes no operands'
nacre verify x
complains 'verify something' 2 '*takes no operands*'
nacre prove
complains 'prove nothing' 2 '*which run?*'
nacre verify --key /nonexistent
complains 'verify by a key that is not there' 2 "*cannot open '/nonexistent'*"
done_testing

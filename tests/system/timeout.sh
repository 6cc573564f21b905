#!/usr/bin/env bash
# Runs alone.
# The time limit, and the end of a run: everything that it started is gone, and nacre does not wait
# for what it left behind (L1, L2 of launch.h).
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
cp "$TOOLS/attack" .

# Runs TEXT, in which TAG stands for a word that only its processes have, past a time limit.
past_limit() { # NAME TEXT
    local tag start
    tag=$(unique)
    start=$SECONDS
    nacre run --json --timeout 1s --limit processes=500 "${2//TAG/$tag}"
    exits "$1: exit code" 124
    check "$1: status and output" jq -e '.status == "timeout" and .stdout == "started\n"' "$scratch/out"
    check "$1: duration" jq -e '.duration_ms >= 1000 and .duration_ms < 9000' "$scratch/out"
    if [ $((SECONDS - start)) -lt 11 ]; then ok "$1: nacre came back"; else
        not_ok "$1: nacre came back" "after $((SECONDS - start)) s"
    fi
    # At once: when nacre returns, nothing runs (L2).
    if dead "$tag"; then ok "$1: nothing is left"; else
        not_ok "$1: nothing is left" "$(pgrep -a -f -- "$tag")"
        pgrep -f -- "$tag" | xargs -r kill -KILL
    fi
}

past_limit 'a sleeper' 'echo started; sleep TAG'
past_limit 'setsid' 'setsid sleep TAG & echo started; sleep TAG'
past_limit 'a double fork' '( (setsid sleep TAG &) & ); echo started; sleep TAG'
past_limit 'nohup' 'nohup sleep TAG >/dev/null 2>&1 & disown; echo started; sleep TAG'
past_limit 'a program that ignores every signal' './attack stubborn 9999 TAG & echo started; ./attack stubborn 9999 TAG'
past_limit 'traps' 'trap "" TERM INT HUP QUIT; trap "sleep TAG" EXIT; echo started; sleep TAG; sleep TAG'
past_limit 'a stopped process' 'sleep TAG & kill -STOP $!; echo started; kill -STOP $$; sleep TAG'
past_limit '200 sleepers' 'echo started; for i in $(seq 200); do sleep TAG & done; wait'
past_limit 'a tree that grows' 'f() { sleep TAG & sleep 0.05; f & f; }; echo started; f 2>/dev/null'
past_limit 'a busy loop' 'echo started; : TAG; while :; do :; done'
past_limit 'closed descriptors' 'echo started; exec <&- >&- 2>&-; sleep TAG'

# --- the limit itself -------------------------------------------------------------------------

late=$("$NACRE" run --timeout 2s 'head -c 300000 /dev/zero' | (sleep 3; wc -c); echo "${PIPESTATUS[0]}")
is 'a command that was done in time, and read late, is no timeout' "$late" "300000
0"

nacre run --json --timeout 700s 'echo x'
check 'more than 600 s is lowered, with a warning' jq -e '.status == "ok" and (.warnings | any(test("600 s")))' "$scratch/out"
nacre run --timeout 601s 'echo x'
is 'in text mode too' "$out" x
like 'on standard error' "$err" 'nacre: warning: *600 s*'
nacre run --timeout 600s 'echo x'
prints '600 s is not too much' x
nacre run -t 500ms 'sleep 20'
like 'the person is told' "$err" '*time limit of 500 ms*'
exits 'milliseconds' 124
start=$SECONDS
nacre run --timeout 5m 'sleep 0.1'
exits 'a limit that is not reached' 0
check 'does not hold up the end' test $((SECONDS - start)) -lt 10

# --- an end that leaves processes behind ------------------------------------------------------

leaves() { # NAME TEXT CODE
    local tag start
    tag=$(unique)
    start=$SECONDS
    nacre run --json --timeout 60s --limit processes=500 "${2//TAG/$tag}"
    exits "$1: the command's own code" "$3"
    check "$1: output" jq -e '.stdout == "main\n"' "$scratch/out"
    check "$1: nacre does not wait" test $((SECONDS - start)) -lt 15
    if dead "$tag"; then ok "$1: nothing is left"; else
        not_ok "$1: nothing is left" "$(pgrep -a -f -- "$tag")"
        pgrep -f -- "$tag" | xargs -r kill -KILL
    fi
}
leaves 'a background process that holds the pipes' 'sleep TAG & echo main; exit 5' 5
leaves 'a daemon' '(setsid setsid sleep TAG &); echo main' 0
leaves 'a stopped child' 'sleep TAG & kill -STOP $!; echo main' 0
leaves 'one that ignores signals' './attack stubborn 9999 TAG & sleep 0.1; echo main; kill -9 $$' 137
leaves 'many' 'for i in $(seq 100); do sleep TAG & done; echo main; exec true' 0
tag=$(unique)
start=$SECONDS
"$NACRE" run "(sleep 0.3; yes $tag) & sleep 0.6; echo main >&2" > /dev/null 2> "$scratch/err"
is 'a flood from behind does not keep nacre either' "$? $(grep -c main "$scratch/err")" '0 1'
check 'for long' test $((SECONDS - start)) -lt 15
is_gone 'and it is gone' "$tag"
before=$(pgrep -c -u "$(id -u)" nacre-launch)
for _ in 1 2 3 4 5; do "$NACRE" run 'sleep 1000 & true'; done
# Fewer than before is well: somebody else's may have ended meanwhile.
check 'no launcher is left' test "$(pgrep -c -u "$(id -u)" nacre-launch)" -le "$before"

done_testing

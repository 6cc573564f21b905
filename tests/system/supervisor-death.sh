#!/usr/bin/env bash
# Runs alone.
# Whoever of us dies, and however: nothing of the tree is left (L1 of launch.h).
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
cp "$TOOLS/attack" .

# Starts a run with a stubborn tree; sets $pid (nacre), $guard and $tag. Signals are default ones.
start() {
    tag=$(unique)
    # A background job of a script ignores SIGINT; env gives it back.
    env --default-signal=INT,QUIT "$NACRE" run --timeout 300s \
        "./attack stubborn 9999 $tag & (setsid ./attack stubborn 9999 $tag &); trap '' TERM INT HUP; echo up; sleep $tag; sleep $tag" \
        > "$scratch/run-out" 2> "$scratch/run-err" &
    pid=$!
    if ! wait_until 20 grep -q up "$scratch/run-out" || ! wait_until 20 started; then
        not_ok 'the tree is up' "$(cat "$scratch/run-err")"
    fi
    guard=$(pgrep -P "$pid")
}
# shellcheck disable=SC2317 # called by wait_until
started() { [ "$(pgrep -c -f "stubborn 9999 $tag")" -ge 2 ]; }

start
kill -KILL "$pid"
wait "$pid" 2> /dev/null
is_gone 'nacre killed: nothing is left' "$tag"
check 'nor the guard' wait_until 8 bash -c "! kill -0 $guard 2>/dev/null"

start
kill -KILL "$guard"
wait "$pid"
is 'the guard killed: nacre says that it failed' "$?" 125
is_gone 'nothing is left' "$tag"
like 'with one line' "$(cat "$scratch/run-err")" 'nacre: *'
is 'and no more' "$(wc -l < "$scratch/run-err")" 1

start
inner=$(pgrep -P "$guard")
kill -KILL "$inner"
wait "$pid"
is 'init killed from outside: a killed run' "$?" 137
is_gone 'nothing is left with init' "$tag"

start
kill -KILL "$pid" "$guard"
wait "$pid" 2> /dev/null
is_gone 'both killed: nothing is left' "$tag"

# A guard that is stopped does not save the tree.
start
kill -STOP "$guard"
kill -KILL "$pid"
wait "$pid" 2> /dev/null
is_gone 'nacre killed while the guard is stopped: nothing is left' "$tag"

for signal in INT:130 TERM:143 HUP:129 QUIT:131; do
    start
    kill -"${signal%:*}" "$pid"
    wait "$pid"
    is "SIG${signal%:*}: exit code" "$?" "${signal#*:}"
    # At once: nacre returned (L2).
    if dead "$tag"; then ok "SIG${signal%:*}: nothing is left"; else
        not_ok "SIG${signal%:*}: nothing is left" "$(pgrep -af "$tag")"
        pgrep -f -- "$tag" | xargs -r kill -KILL
    fi
    is "SIG${signal%:*}: what was printed is there" "$(cat "$scratch/run-out")" up
done

tag=$(unique)
env --default-signal=INT "$NACRE" run --json --timeout 300s "echo up; sleep $tag" > "$scratch/run-out" 2> "$scratch/run-err" &
pid=$!
wait_until 20 alive "^sleep $tag"
kill -INT "$pid"
wait "$pid"
is 'with --json: exit code' "$?" 130
check 'with --json: the result is there' jq -e '.status == "killed" and .stdout == "up\n"' "$scratch/run-out"
is_gone 'with --json: nothing is left' "$tag"

# What nohup ignores stays ignored.
tag=$(unique)
(trap '' HUP; exec "$NACRE" run "echo up; sleep 1; echo later; : $tag") > "$scratch/run-out" 2>&1 &
pid=$!
wait_until 20 grep -q up "$scratch/run-out"
kill -HUP "$pid"
wait "$pid"
is 'an ignored SIGHUP stays ignored' "$? $(tail -1 "$scratch/run-out")" '0 later'

# The whole process group, as a terminal's ^C does it: the inside is not in it.
tag=$(unique)
set -m
env --default-signal=INT "$NACRE" run "echo up; sleep $tag" > "$scratch/run-out" 2>&1 &
pid=$!
set +m
wait_until 20 alive "^sleep $tag"
is 'the inside has another process group' "$(ps -o pgid= -p "$(pgrep -f "^sleep $tag")" | tr -d ' ' | grep -cx "$pid")" 0
kill -INT -- "-$pid"
wait "$pid"
is '^C ends nacre' "$?" 130
is_gone '^C ends the tree' "$tag"

tag=$(unique)
check 'nacre run yes | head -1 ends' timeout 30 bash -c "'$NACRE' run 'yes $tag' | head -1"
is_gone 'and so does yes' "$tag"
timeout 30 bash -c "'$NACRE' run 'yes $tag' 2> '$scratch/err' | head -1 > /dev/null; exit \${PIPESTATUS[0]}"
code=$?
is 'its code is not that of success' "$([ $code -ne 0 ] && [ $code -ne 124 ] && echo fine)" fine

# Nobody reads what it prints: the person can still stop it.
tag=$(unique)
mkfifo "$scratch/pipe"
(exec sleep 60) < "$scratch/pipe" &
reader=$!
env --default-signal=INT "$NACRE" run "yes $tag" > "$scratch/pipe" 2> /dev/null &
pid=$!
wait_until 20 alive "^yes $tag"
sleep 1
kill -TERM "$pid"
if wait_until 8 bash -c "! kill -0 $pid 2>/dev/null"; then ok 'SIGTERM ends a run whose reader stalls'; else
    not_ok 'SIGTERM ends a run whose reader stalls' "$(pgrep -af "$tag")"
    kill -KILL "$pid"
fi
wait "$pid" 2> /dev/null
kill "$reader"
is_gone 'nothing is left of that' "$tag"

done_testing

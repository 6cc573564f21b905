#!/usr/bin/env bash
# Runs alone.
# P7, L1: when nacre is killed, or whoever called it dies, nothing of the tree is left, whatever
# state it is in.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"

cp "$TOOLS/attack" .
# shellcheck disable=SC2317 # called by wait_until
ended() { # PID: it is gone, or only not yet reaped by whoever has inherited it
    case $(ps -o stat= -p "${1:-0}") in '' | Z*) true ;; *) false ;; esac
}
start() { # TEXT NAME: sets $pid
    rm -f "$scratch/out"
    env --default-signal=INT,QUIT,HUP,TERM "$NACRE" run --timeout 60s --limit processes=20 "$1" > "$scratch/out" 2>&1 &
    pid=$!
    check "$2: control: it is up" wait_until 10 grep -qs up "$scratch/out"
}
for signal in KILL TERM HUP INT QUIT ABRT SEGV; do
    start "./attack stubborn 600 $(unique) & setsid sleep 600 & trap '' TERM INT HUP; echo up; sleep 600; sleep 600" "SIG$signal"
    inner=$(pgrep -P "$(pgrep -P "$pid" | head -1)" | head -1)
    check "SIG$signal: control: process 1 of it is seen" test -n "$inner"
    kill -"$signal" "$pid"
    wait "$pid" 2> /dev/null
    check "SIG$signal: the inside ends" wait_until 8 ended "$inner"
done
# The caller's caller dies: a shell that was the parent, killed.
tag=$(unique)
rm -f "$scratch/out"
bash -c "'$NACRE' run --timeout 5s 'echo up; sleep $tag; :' > '$scratch/out' 2>&1 & echo \$! > '$scratch/pid'; wait" &
shell=$!
wait_until 10 grep -qs up "$scratch/out"
kill -KILL "$shell"
wait "$shell" 2> /dev/null
# An orphan goes on until its time is over, and no longer.
kill -TERM "$(cat "$scratch/pid")" 2> /dev/null
is_gone 'an orphan is ended by a signal' "^sleep $tag"
# Stopped, and then killed.
start 'echo up; sleep 600' 'stopped'
guard=$(pgrep -P "$pid" | head -1)
inner=$(pgrep -P "$guard" | head -1)
check 'stopped: control: process 1 of it is seen' test -n "$inner"
kill -STOP "$guard" "$pid"
kill -KILL "$pid"
wait "$pid" 2> /dev/null
kill -CONT "$guard" 2> /dev/null
check 'stopped: the inside ends' wait_until 8 ended "$inner"

done_testing

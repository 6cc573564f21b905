#!/usr/bin/env bash
# Killed at any moment of a commit, an undo, a redo, and of the recovery from that: before or after, never between.
# shellcheck disable=SC2016,SC2317 # texts for the shell inside; a function that a trap calls

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
tools=$STAGE/tests/tools
base=$PWD
rounds=$((20 * SOAK))
mkdir -p ws store
export XDG_STATE_HOME=$base/store
trap 'cd /; chmod -R u+rwx "$base" "$scratch" 2> /dev/null; rm -rf "$scratch"' EXIT

# Something of each kind, and so much of it that a kill can meet it; times are the same always.
mkdir -p ws/{kept,gone/deep,closed,modified}
for i in $(seq 40); do
    echo "$i" > "ws/modified/$i"
    echo "$i" > "ws/gone/deep/$i"
done
echo x > ws/closed/in
echo one > ws/link1
ln ws/link1 ws/kept/link2
chmod 555 ws/closed
text='for i in modified/*; do echo more >> $i; done; rm -r gone; echo 1 >> link1; chmod 755 closed; echo c > closed/new; chmod 500 closed
for i in 1 2 3 4 5 6 7 8; do mkdir -p made/$i; for k in 1 2 3 4 5; do echo $k > made/$i/$k; done; done
touch -d @1700000000 modified/* modified link1 closed/new closed made/*/* made/* made kept .; chmod 000 made/8'
look() { /usr/bin/python3 "$tools/snapshot.py" ws > "$scratch/$1"; }
newest() { find store/nacre/store/*/runs -mindepth 1 -maxdepth 1 -printf '%T@ %f\n' | sort -n | tail -1 | cut -d' ' -f2; }
now_ms() { date +%s%3N; }
look before
start=$(now_ms)
"$NACRE" run -w ws --limit processes=50 "$text" > "$scratch/out" 2>&1
run_ms=$(($(now_ms) - start))
look after
id=$(newest)
start=$(now_ms)
"$NACRE" undo "$id" > "$scratch/out" 2>&1
undo_ms=$(($(now_ms) - start))
look now
check 'control: undone, it is as before' cmp "$scratch/before" "$scratch/now"
refute 'control: done, it is not' cmp "$scratch/before" "$scratch/after"

broken='' commits=0 undos=0 redos=0 recoveries=0
# The state in the head of a journal: 2 while it becomes real, 4 while it is taken back.
state_of() { # ID
    od -An -tu8 -j60 -N8 "$(echo store/nacre/store/*/runs/"$1"/journal)" 2> /dev/null | tr -d ' '
}
killed_after() { # MS COMMAND…: within so many milliseconds, by chance
    local pid ms=$((RANDOM % ($1 + 1)))
    "$NACRE" "${@:2}" > /dev/null 2>&1 &
    pid=$!
    sleep "$((ms / 1000)).$(printf %03d $((ms % 1000)))"
    kill -KILL $pid 2> /dev/null
    wait $pid 2> /dev/null
}
between() { case $(state_of "$(newest)") in 2 | 4) true ;; *) false ;; esac; }
settled() { "$NACRE" run -w ws true > "$scratch/said" 2>&1 && [ -z "$(find store/nacre/store/*/pending -mindepth 1)" ]; }
# Comes to rest, killed on the way some times; which of the two it is, is in $state.
settle() { # ROUND
    local i
    for i in 1 2 3; do
        between || break
        killed_after $((undo_ms / 2)) run -w ws true
        if between; then recoveries=$((recoveries + 1)); fi
    done
    # What it had started takes a moment to die.
    wait_until 5 settled || broken+="$1: $(head -c 300 "$scratch/said") pending: $(find store/nacre/store/*/pending -mindepth 1)"$'\n'
    look now
    if cmp -s "$scratch/before" "$scratch/now"; then state=before; elif cmp -s "$scratch/after" "$scratch/now"; then state=after; else
        state=between
        broken+="$1: between: $(diff "$scratch/after" "$scratch/now" | head -6)"$'\n'
    fi
}
turn() { # ROUND COMMAND STATE
    local said
    said=$("$NACRE" "$2" "$id" 2>&1) || broken+="$1: then $2: ${said:0:300}"$'\n'
    look now
    cmp -s "$scratch/$3" "$scratch/now" || broken+="$1: after $2 not as $3: $(diff "$scratch/$3" "$scratch/now" | head -4)"$'\n'
}
exec 8>&2 2> /dev/null # bash tells of those that are killed
for round in $(seq "$rounds"); do
    # The commit is the end of a run.
    killed_after $((run_ms * 3 / 2)) run -w ws --limit processes=50 "$text"
    if between; then commits=$((commits + 1)); fi
    settle "$round, run"
    if [ "$state" = before ]; then
        "$NACRE" run -w ws --limit processes=50 "$text" > "$scratch/said" 2>&1 || broken+="$round: the run again: $(head -c 300 "$scratch/said")"$'\n'
        look after
    fi
    id=$(newest)
    for command in undo redo; do
        if [ "$command" = undo ]; then from=after to=before; else from=before to=after; fi
        killed_after $((undo_ms * 3 / 2)) "$command" "$id"
        case $(state_of "$id") in 2) redos=$((redos + 1)) ;; 4) undos=$((undos + 1)) ;; esac
        settle "$round, $command"
        if [ "$state" = "$from" ]; then turn "$round" "$command" "$to"; fi
    done
    turn "$round" undo before
    if [ -n "$broken" ]; then break; fi
done
exec 2>&8 8>&-
if [ -z "$broken" ]; then
    ok "killed in $rounds rounds: before or after (met: commit $commits, undo $undos, redo $redos, recovery $recoveries)"
else
    not_ok "killed in round $round (met: commit $commits, undo $undos, redo $redos, recovery $recoveries)" "$broken"
fi
check 'control: it was between, some times' test $((commits + undos + redos)) -gt 0

done_testing

#!/usr/bin/env bash
# Random work in a workspace, run after run; then undo, in random order: an independent walk finds every state again.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

tools=$STAGE/tests/tools
mkdir ws store
export XDG_STATE_HOME=$PWD/store
cp "$tools/random_changes.py" .
work="$PWD/random_changes.py"
look() { /usr/bin/python3 "$tools/snapshot.py" ws > "$scratch/$1"; }
same() { # NAME A B
    if cmp -s "$scratch/$2" "$scratch/$3"; then ok "$1"; else
        not_ok "$1" "$(diff "$scratch/$2" "$scratch/$3" | head -6)"
    fi
}
change() { # SEED COUNT: its id is in $id
    nacre run -w ws --json --read-path "$work" --timeout 60s --limit processes=50 "/usr/bin/python3 $work $1 $2"
    id=$(jq -r .correlation_id "$scratch/out")
    status=$(jq -r .status "$scratch/out")
}
turn() { # NAME COMMAND ID
    if "$NACRE" "$2" "$3" > "$scratch/said" 2>&1; then ok "$1"; else not_ok "$1" "$(head -5 "$scratch/said")"; fi
}

# --- one run, taken back and put back -------------------------------------------------------------------------

seed=${SEED:-$((RANDOM % 1000))}
for round in $(seq $((6 * SOAK))); do
    rm -rf ws
    mkdir ws
    (cd ws && /usr/bin/python3 "$work" $((seed + round)) 120)
    look before
    change $((seed + round + 5000)) 80
    is "seed $((seed + round)): a run of random work" "$status" ok
    look after
    turn 'is undone' undo "$id"
    look undone
    same 'and everything is as before' before undone
    turn 'is redone' redo "$id"
    look redone
    same 'and everything is as after it' after redone
done

# --- several runs, taken back from the last to the first ------------------------------------------------------

rm -rf ws
mkdir ws
(cd ws && /usr/bin/python3 "$work" "$seed" 60)
ids=()
for i in 1 2 3 4 5; do
    look "state$i"
    change $((seed + 100 * i)) 25
    ids+=("$id")
done
for i in 5 4 3 2 1; do
    # A run may have changed nothing that is left of it.
    if "$NACRE" undo "${ids[i - 1]}" > "$scratch/said" 2>&1 || grep -q 'has changes that are kept' "$scratch/said"; then
        ok "run $i of five is undone"
    else
        not_ok "run $i of five is undone" "$(head -5 "$scratch/said")"
    fi
    look undone
    same 'and the state before it is there' "state$i" undone
done

# --- some of many, in any order, each in its own place --------------------------------------------------------

rm -rf ws
mkdir -p ws/{1,2,3,4,5,6}
ids=()
for i in 1 2 3 4 5 6; do
    (cd "ws/$i" && /usr/bin/python3 "$work" $((seed + i)) 25)
    look "part$i.before"
done
for i in 1 2 3 4 5 6; do
    /usr/bin/python3 "$tools/snapshot.py" "ws/$i" > "$scratch/part$i.before"
    nacre run -w ws --json --read-path "$work" --limit processes=50 "cd $i && /usr/bin/python3 $work $((seed + 70 + i)) 25 && echo $i > mark"
    ids+=("$(jq -r .correlation_id "$scratch/out")")
    /usr/bin/python3 "$tools/snapshot.py" "ws/$i" > "$scratch/part$i.after"
done
for i in $(shuf -i 1-6 -n 3); do
    turn "run $i, which no other touched" undo "${ids[i - 1]}"
    undone[i]=yes
done
for i in 1 2 3 4 5 6; do
    /usr/bin/python3 "$tools/snapshot.py" "ws/$i" > "$scratch/now"
    if [ "${undone[i]:-}" = yes ]; then same "part $i is as before" "part$i.before" now; else same "part $i is as after" "part$i.after" now; fi
done

# --- a sparse terabyte ----------------------------------------------------------------------------------------

rm -rf ws
mkdir ws
if truncate -s 1T ws/huge 2> /dev/null; then
    printf x | dd of=ws/huge bs=1 seek=500G conv=notrunc status=none
    look before
    nacre run -w ws --json --limit disk=2TB 'printf y | dd of=huge bs=1 seek=3 conv=notrunc status=none; stat -c %s huge'
    is 'a terabyte with two bytes in it is changed' "$(jq -r .stdout "$scratch/out")" 1099511627776
    id=$(jq -r .correlation_id "$scratch/out")
    turn 'and undone' undo "$id"
    look undone
    same 'and is what it was' before undone
else
    ok 'no file system for files of a terabyte'
fi

done_testing

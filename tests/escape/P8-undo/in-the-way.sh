#!/usr/bin/env bash
# P8: what another run, or a person, put in the way after an undo or before a redo is never lost.
# shellcheck disable=SC2016,SC2317 # texts for the inside; functions that are called by traps

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"
base=$PWD
mkdir ws store
export XDG_STATE_HOME=$base/store
trap 'chmod -R u+rwx "$base" 2> /dev/null; rm -rf "$scratch"' EXIT

snapshot() { /usr/bin/python3 "$STAGE/tests/tools/snapshot.py" ws; }
mkdir -p ws/d
echo 0 > ws/d/f
echo 0 > ws/g
nacre run -w ws --json 'rm -r d; echo d > d; rm g; mkdir g; echo 1 > g/1; echo n > n'
id=$(jq -r .correlation_id "$scratch/out")
check 'undone' "$NACRE" undo "$id"
way() { # NAME COMMAND: done after the undo; the redo is refused, and nothing is lost
    cp -a ws ws.kept
    eval "$2"
    local before
    before=$(snapshot)
    nacre redo "$id"
    exits "$1: refused" 1
    is "$1: nothing is changed" "$(snapshot)" "$before"
    rm -rf ws/* && cp -a ws.kept/. ws/ && rm -rf ws.kept
}
way 'a file in the way of a new one' 'echo mine > ws/n'
way 'a directory in the way' 'mkdir ws/n'
way 'a file in a directory that is to go' 'echo mine > ws/d/mine'
way 'an edit of one that is to go' 'echo mine > ws/g'
way 'one that is to go is gone' 'rm ws/g'
way 'one that is to go is a link' 'rm ws/g; ln -s d ws/g'
# Runs that come while undo and redo go to and fro.
for i in 1 2 3 4 5 6; do
    "$NACRE" redo "$id" > /dev/null 2>&1
    "$NACRE" undo "$id" > /dev/null 2>&1
done &
turner=$!
for i in 1 2 3 4 5 6; do "$NACRE" run -w ws "echo $i > own$i"; done > "$scratch/runs" 2>&1
wait $turner
sed 's/^/# /' "$scratch/runs"
is 'what runs did meanwhile is there' "$(cat ws/own[1-6] | tr '\n' ' ')" '1 2 3 4 5 6 '

done_testing

#!/usr/bin/env bash
# Killed while changes become real, and somebody takes their place away before the next use: that one and all others
# go on, nothing of the somebody's is touched, and when the place is back everything can be taken back, or finished.
# shellcheck disable=SC2016 # texts for the shell inside

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
tools=$STAGE/tests/tools
mkdir ws store elsewhere
export XDG_STATE_HOME=$PWD/store
if ! strace -o /dev/null true 2> /dev/null; then
    skip 'killed in the middle' 'no strace here'
    done_testing
fi

look() { /usr/bin/python3 "$tools/snapshot.py" ws > "$scratch/$1"; }
pending() { find store/nacre/store/*/pending -mindepth 1 | wc -l; }
mkdir ws/d
for i in 1 2 3 4 5 6; do echo "$i" > "ws/d/f$i"; done
echo kept > elsewhere/f1
look before

# Leaves a run of which some steps are done.
cut_off() {
    nacre run -w ws --stage --json 'for i in 1 2 3 4 5 6; do echo new >> d/f$i; done; rm d/f6; echo n > d/new; touch -d @1700000000 d d/f? d/new'
    id=$(jq -r .correlation_id "$scratch/out")
    strace -o /dev/null -e trace=renameat2 -e inject=renameat2:signal=KILL:when=4 "$NACRE" commit "$id" > /dev/null 2>&1
    new=$(grep -l new ws/d/* 2> /dev/null | wc -l)
    check "control: some of it is real ($new)" test "$new" -ge 1 -a "$new" -lt 6
}
take_away() {
    mv ws/d ws/d.away
    ln -s "$PWD/elsewhere" ws/d
}
put_back() {
    rm ws/d
    mv ws/d.away ws/d
    # What it is to the directory above is of no matter.
    touch -d "@$(stat -c %.9Y "$1")" ws
}

cut_off 2> /dev/null
touch -r ws "$scratch/time"
take_away
nacre run -w ws --json 'echo more > more; cat d.away/f1 > /dev/null'
exits 'the next run works' 0
like 'and says what became of that one' "$(jq -r '.warnings[]' "$scratch/out")" "*run ${id:0:8}*real in part*nacre undo ${id:0:8}*"
is 'nothing is pending' "$(pending)" 0
next=$(jq -r .correlation_id "$scratch/out")
is 'nothing of the other place is touched' "$(cat elsewhere/*)" kept
nacre history --json
like 'it is in the ledger' "$("$NACRE" history "$id" --json)" '*real in part*'

nacre undo "$id"
is 'it is not undone while the place is away' "$code" 1
like 'and that is said with the path' "$err" '*d/f1*out of reach*'
nacre commit "$id"
is 'nor committed' "$code" 1
nacre diff "$id"
like 'nor shown as if it were whole' "$err" '*stranded*'
check 'the later run is undone by itself' "$NACRE" undo "$next"

put_back "$scratch/time"
echo 'by hand' > ws/d/f1
look edited
nacre undo "$id"
is "what a person wrote since is a conflict" "$code" 1
look now
check 'and stays, as does everything else' diff "$scratch/edited" "$scratch/now"
# What is kept of it is a person's, and nowhere else: no agent gives that up.
coproc SERVER { "$JUDGE" serve --mcp -w ws 2> /dev/null; }
printf '%s\n' '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}' \
    '{"jsonrpc":"2.0","method":"notifications/initialized"}' \
    "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{\"name\":\"discard\",\"arguments\":{\"id\":\"$id\"}}}" >&"${SERVER[1]}"
answer=
while read -r -u "${SERVER[0]}" -t 30 answer && [ "$(jq .id <<< "$answer")" != 2 ]; do :; done
eval "exec ${SERVER[1]}>&-"
wait
is 'an agent cannot throw it away' "$(jq -r .result.isError <<< "$answer")" true
like 'and is told who can' "$answer" '*stranded*person*'
check 'a person can' "$NACRE" discard "$id"

# Again, and back.
rm -rf ws && mkdir -p ws/d
for i in 1 2 3 4 5 6; do echo "$i" > "ws/d/f$i"; done
look before
cut_off 2> /dev/null
touch -r ws "$scratch/time"
take_away
nacre run -w ws true
exits 'again: the next run works' 0
put_back "$scratch/time"
check 'the place is back: it is undone' "$NACRE" undo "$id"
look now
check 'all is as before' diff "$scratch/before" "$scratch/now"
check 'and redone' "$NACRE" redo "$id"
is 'all of it' "$(grep -l n ws/d/* | wc -l)" 6

# And forth.
rm -rf ws && mkdir -p ws/d
for i in 1 2 3 4 5 6; do echo "$i" > "ws/d/f$i"; done
cut_off 2> /dev/null
touch -r ws "$scratch/time"
take_away
nacre run -w ws true
exits 'once more: the next run works' 0
put_back "$scratch/time"
check 'the place is back: it is finished' "$NACRE" redo "$id"
is 'as a whole' "$(grep -l n ws/d/* | wc -l)" 6
check 'and verifies' "$NACRE" verify

done_testing

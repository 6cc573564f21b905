#!/usr/bin/env bash
# P9: the workspace's entries, or the workspace itself, go while a second run is at work.
# shellcheck disable=SC2016,SC2317 # texts for the inside; functions that are called by traps

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"
base=$PWD
mkdir ws store
export XDG_STATE_HOME=$base/store
trap 'chmod -R u+rwx "$base" 2> /dev/null; rm -rf "$scratch"' EXIT

fill() { mkdir -p ws/a/b ws/c && echo 1 > ws/a/f && echo 2 > ws/a/b/g && echo 3 > ws/top; }
fill
for i in $(seq $((6 * SOAK))); do
    "$NACRE" run --json -w ws "sleep 0.0$((RANDOM % 9)); echo $i > a/f; echo $i > a/b/new$i; mkdir c/$i; echo $i > top" > "$scratch/r1" 2> /dev/null &
    one=$!
    "$NACRE" run --json -w ws "sleep 0.0$((RANDOM % 9)); rm -rf ./*" > "$scratch/r2" 2> /dev/null &
    two=$!
    wait $one $two
    st1=$(jq -r .status "$scratch/r1") st2=$(jq -r .status "$scratch/r2")
    id1=$(jq -r .correlation_id "$scratch/r1") id2=$(jq -r .correlation_id "$scratch/r2")
    # Whoever came first is real as a whole; the other is real as a whole, or held.
    if [ "$st2" = ok ] && [ "$st1" != ok ]; then
        is "$i: deleted, and the other is held" "$st1 $(find ws -mindepth 1 | wc -l)" 'needs_confirmation 0'
        check "$i: undone" "$NACRE" undo "$id2"
    elif [ "$st1" = ok ] && [ "$st2" != ok ]; then
        is "$i: changed, and the other is held" "$st2 $(cat ws/a/f ws/top "ws/a/b/new$i" 2>&1 | tr '\n' ' ')" "needs_confirmation $i $i $i "
        check "$i: undone" "$NACRE" undo "$id1"
    elif [ "$st1" = ok ]; then
        # The one began when the other had ended.
        if [ -e ws/top ]; then last=$id1 first=$id2; else last=$id2 first=$id1; fi
        ok "$i: one after the other"
        check "$i: undone" "$NACRE" undo "$last"
        check "$i: both" "$NACRE" undo "$first"
    else
        not_ok "$i: neither ($st1, $st2)"
    fi
    is "$i: all is as before" "$(cat ws/a/f ws/a/b/g ws/top; find ws | wc -l)" $'1\n2\n3\n7'
done
# Directories come and go all the time, also while it is looked at what a run did to them.
touch "$scratch/going"
(while [ -e "$scratch/going" ]; do mv ws/a ws/A && mv ws/A ws/a; done) &
mover=$!
errors=''
for i in $(seq $((40 * SOAK))); do
    "$NACRE" run --json --stage -w ws "mkdir -p a/b a/c a/d a/e/f && touch a/b/g a/c/$i a/d/$i a/e/f/$i" > "$scratch/r1" 2> /dev/null
    errors+=$(jq -r 'select(.status == "error") | .error' "$scratch/r1")
    id=$(jq -r .correlation_id "$scratch/r1")
    "$NACRE" discard "$id" > /dev/null 2>&1
done
rm "$scratch/going"
wait $mover
is 'what goes while it is looked at is a conflict, and nothing is thrown away for it' "$errors" ''
rm -rf ws
mkdir ws
fill
# The workspace itself is replaced meanwhile.
mkdir "$scratch/other"
echo other > "$scratch/other/file"
"$NACRE" run --json -w ws 'echo evil > file; rm -r a; sleep 0.5' > "$scratch/r1" 2> /dev/null &
one=$!
sleep 0.25
mv ws moved
cp -a "$scratch/other" ws
wait $one
is 'another directory in its place is not written to' "$(cd ws && cat file; ls)" $'other\nfile'
check 'nor is the one that was moved away' test -e moved/a/f
unlike 'and it is no success' "$(jq -r .status "$scratch/r1")" ok
rm -rf ws
ln -s "$scratch/other" ws
nacre run -w moved 'echo y > top'
mv moved away
mv ws moved
"$NACRE" undo "$(jq -r .correlation_id "$scratch/out" 2> /dev/null || tail -1 store/nacre/store/*/log | cut -d' ' -f2)" > /dev/null 2>&1
is 'nor is a link in its place followed by an undo' "$(cat "$scratch/other/file"; ls "$scratch/other")" $'other\nfile'

done_testing

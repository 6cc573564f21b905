#!/usr/bin/env bash
# P8: an undo follows no link that came in the place of a directory or a file since, nor does a redo.
# shellcheck disable=SC2016,SC2317 # texts for the inside; functions that are called by traps

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"
base=$PWD
mkdir ws store
export XDG_STATE_HOME=$base/store
trap 'chmod -R u+rwx "$base" 2> /dev/null; rm -rf "$scratch"' EXIT

mkdir -p "$scratch/victim/sub" ws/d/sub
for place in "$scratch/victim" ws/d; do
    echo same > "$place/f"
    echo same > "$place/sub/g"
done
nacre run -w ws --json 'echo run > d/f; echo run > d/new; rm d/sub/g; chmod 700 d/sub'
id=$(jq -r .correlation_id "$scratch/out")
echo run > "$scratch/victim/f"
echo run > "$scratch/victim/new"
touch -r ws/d/f "$scratch/victim/f"
before=$(cd "$scratch/victim" && find . -printf '%p %i %C@ %m\n' | sort)
untouched() { is "$1" "$(cd "$scratch/victim" && find . -printf '%p %i %C@ %m\n' | sort)" "$before"; }
mv ws/d ws/kept
ln -s "$scratch/victim" ws/d
nacre undo "$id"
exits 'a directory became a link: refused' 1
untouched 'and where it leads nothing is changed'
is_file 'nor in the one that was moved' ws/kept/f $'run\n'
rm ws/d
mv ws/kept ws/d
rm ws/d/f
ln -s "$scratch/victim/f" ws/d/f
nacre undo "$id"
exits 'a file became a link: refused' 1
untouched 'and what it leads to is not changed'
rm ws/d/f
echo run > ws/d/f
mv ws/d/sub ws/d/sub.kept
ln -s "$scratch/victim/sub" ws/d/sub
nacre undo "$id"
exits 'an inner directory became a link: refused' 1
untouched 'and nothing is put where it leads'
rm ws/d/sub
mv ws/d/sub.kept ws/d/sub
nacre undo "$id"
exits 'control: all in its place: undone' 0
is_file 'control: as before' ws/d/f $'same\n'
mv ws/d ws/kept
ln -s "$scratch/victim" ws/d
nacre redo "$id"
exits 'a redo is refused, too' 1
untouched 'and nothing is changed'

done_testing

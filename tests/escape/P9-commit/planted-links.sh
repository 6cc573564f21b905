#!/usr/bin/env bash
# P9: links that a run leaves in the place of directories and files are moved, never followed.
# shellcheck disable=SC2016,SC2317 # texts for the inside; functions that are called by traps

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"
base=$PWD
mkdir ws store
export XDG_STATE_HOME=$base/store
trap 'chmod -R u+rwx "$base" 2> /dev/null; rm -rf "$scratch"' EXIT

mkdir "$scratch/victim" ws/d
echo kept > "$scratch/victim/f"
echo kept > "$scratch/victim/g"
echo x > ws/d/f
echo x > ws/file
before=$(cd "$scratch/victim" && stat -c '%n %i %Y %Z %a' . ./*)
untouched() { # NAME
    is "$1" "$(cd "$scratch/victim" && stat -c '%n %i %Y %Z %a' . ./*)" "$before"
}
nacre run -w ws "rm -r d; ln -s $scratch/victim d; echo evil > d/f; rm -f d/g; chmod 777 d; true"
check 'control: a link is there now' test -L ws/d
untouched 'what it leads to is not changed'
nacre run -w ws 'rm -f d/f; echo evil > d/f; touch d; true'
untouched 'nor by the next run, through it'
nacre run -w ws "rm file; ln -s $scratch/victim/f file"
nacre run -w ws 'echo evil > file; chmod 777 file; true'
untouched 'nor through a link to a file'
nacre run -w ws 'rm d; mkdir d; echo evil > d/f; echo evil > d/g; ln -s d e'
untouched 'nor when the link becomes a directory'
is_file 'control: that is real' ws/d/g $'evil\n'
# Back through all of them.
for id in $(cut -d' ' -f2 store/nacre/store/*/log | tac); do
    check 'undone' "$NACRE" undo "$id"
    untouched 'and nothing is changed'
done
is_file 'all is as it was' ws/d/f $'x\n'

done_testing

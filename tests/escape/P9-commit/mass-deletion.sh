#!/usr/bin/env bash
# P9: a run that deletes more than effects.delete_files is held, in whatever way it deletes.
# shellcheck disable=SC2016,SC2317 # texts for the inside; functions that are called by traps

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"
base=$PWD
mkdir ws store
export XDG_STATE_HOME=$base/store
trap 'chmod -R u+rwx "$base" 2> /dev/null; rm -rf "$scratch"' EXIT
# A policy that lets every text through: what it does is judged alone.
cat > "$scratch/allow.yaml" << 'Y'
extends: full-auto
shell: {unknown: allow, allow: [python3, bash]}
accept_irreversible: true
effects: {delete_files: 100}
Y
judged() { # CODE: what python does inside
    printf '%s\n' "$1" > "$scratch/attack.py"
    "$JUDGE" run --json -w ws --config "${config:-$scratch/allow.yaml}" --limit processes=50 --timeout 60s \
        --read-path "$scratch/attack.py" "/usr/bin/python3 $scratch/attack.py" > "$scratch/result" 2> "$scratch/err"
    status=$(jq -r .status "$scratch/result")
    id=$(jq -r .correlation_id "$scratch/result")
}

fill() {
    chmod -R u+rwx ws
    rm -rf ws
    mkdir -p ws/{a,b/c}
    for i in $(seq 150); do echo "$i" > "ws/a/$i"; done
    for i in $(seq 60); do echo "b $i" > "ws/b/$i"; : > "ws/b/c/$i"; done
    before=$(find ws -type f | sort | xargs sha256sum)
}
fill
attack() { # NAME CODE
    judged "import os, shutil
$2"
    is "$1: nothing is lost ($status)" "$(find ws -type f | sort | xargs sha256sum)" "$before"
    unlike "$1: not called a success" "$status" ok
}
judged 'import os
for i in range(1, 51): os.unlink(f"a/{i}")'
is 'control: fifty are deleted' "$status $(find ws/a -type f | wc -l)" 'ok 100'
"$NACRE" undo "$id" > /dev/null 2>&1
attack 'one by one' 'for i in range(1, 151): os.unlink(f"a/{i}")'
attack 'with their directory' 'shutil.rmtree("a")'
attack 'the directory made anew' 'shutil.rmtree("a"); os.mkdir("a")'
attack 'the directory replaced by a file' 'shutil.rmtree("a"); open("a", "w").close()'
attack 'the directory replaced by a link' 'shutil.rmtree("a"); os.symlink("b", "a")'
attack 'each replaced by a directory' 'for i in range(1, 151): os.unlink(f"a/{i}"); os.mkdir(f"a/{i}")'
attack 'here and there' 'shutil.rmtree("b"); [os.unlink(f"a/{i}") for i in range(1, 20)]'
attack 'moved out' 'shutil.move("a", "/tmp/a")'
attack 'everything' 'for n in os.listdir("."): shutil.rmtree(n)'
refute 'what is held is not committed' "$JUDGE" commit "$id"
is 'nothing is lost by that' "$(find ws -type f | sort | xargs sha256sum)" "$before"
check 'a person makes it real' "$JUDGE" approve --yes "$id"
is 'then it is' "$(ls -A ws)" ''
check 'and be undone' "$NACRE" undo "$id"
is 'then all is there' "$(find ws -type f | sort | xargs sha256sum)" "$before"

done_testing

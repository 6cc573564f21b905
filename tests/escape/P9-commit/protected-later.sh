#!/usr/bin/env bash
# P9: protected and hidden paths that did not exist when the run began are not made by it.
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
Y
judged() { # CODE: what python does inside
    printf '%s\n' "$1" > "$scratch/attack.py"
    "$JUDGE" run --json -w ws --config "${config:-$scratch/allow.yaml}" --limit processes=50 --timeout 60s \
        --read-path "$scratch/attack.py" "/usr/bin/python3 $scratch/attack.py" > "$scratch/result" 2> "$scratch/err"
    status=$(jq -r .status "$scratch/result")
}

cat "$scratch/allow.yaml" - > "$scratch/paths.yaml" << Y
paths:
  protect: [later.conf, conf.d, deep/er/file, "$base/ws/absolute"]
  hide: [secret.later, private]
Y
config=$scratch/paths.yaml
judged 'import os; os.makedirs("deep/er"); open("deep/er/other", "w").write("x")'
is 'control: what is beside them is real' "$status $(cat ws/deep/er/other)" 'ok x'
attack() { # PATH CODE
    judged "import os
$2"
    check "$1: not real ($status)" test ! -e "ws/$1" -a ! -L "ws/$1"
}
for path in later.conf conf.d deep/er/file absolute secret.later private; do
    attack "$path" "open('$path', 'w').write('evil')"
    attack "$path" "os.mkdir('$path')"
    attack "$path" "os.symlink('deep', '$path')"
    attack "$path" "open('x', 'w').write('evil'); os.rename('x', '$path')"
    attack "$path" "open('x', 'w').write('evil'); os.link('x', '$path')"
    attack "$path" "os.mkdir('x'); open('x/y', 'w').write('evil'); os.rename('x', '$path')"
    attack "$path" "os.mkfifo('$path')"
done
attack conf.d/x "os.makedirs('conf.d/x')"
attack private/a/b "os.makedirs('private/a/b')"
attack deep/er/file "import shutil; shutil.copytree('deep', 'd2'); open('d2/er/file', 'w').write('evil'); shutil.rmtree('deep'); os.rename('d2', 'deep')"
is_file 'nothing else of it is real, either' ws/deep/er/other x

done_testing

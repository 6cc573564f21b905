#!/usr/bin/env bash
# P9: links that lead out of the workspace are held; those that stay in it are not.
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

mkdir -p "$scratch/home/.ssh" ws/sub
echo secret > "$scratch/home/.ssh/id_rsa"
echo secret > "$base/beside"
attack() { # TARGET [WHERE]
    judged "import os; os.symlink('$1', '${2:-x}')"
    check "${2:-x} -> $1: not real ($status)" test ! -L "ws/${2:-x}"
    rm -f "ws/${2:-x}"
}
attack "$scratch/home/.ssh/id_rsa"
attack /root/.ssh/id_rsa
attack /home
attack /
attack /tmp
attack "/usr/..$scratch/home/.ssh/id_rsa"
attack "/usr/share/../..$scratch"
attack "/etc/../$scratch"
attack "$base/ws/../beside"
attack "$base/wsx"
attack /proc/self/root/home
attack /proc/self/cwd/../beside
attack ..
attack ../beside
attack ../../beside sub/x
attack sub/../../beside
attack ./../beside
attack .//..//beside
attack sub/../../ws/sub
judged 'import os; os.makedirs("p/q"); os.symlink("../..", "p/q/r"); os.symlink("p/q/r/../beside", "y")'
check 'through a link that climbs: not real' test ! -e ws/y
judged 'import os; os.makedirs("a/b/c"); os.symlink("../../../x", "a/b/c/l"); os.rename("a/b/c", "c")'
check 'moved up after it was made: not real' test ! -L ws/c/l
for target in sub ./sub /usr/bin/env /etc/hosts "$base/ws/sub" nowhere; do
    judged "import os; os.symlink('$target', 'fine')"
    check "control: a link to $target is real ($status)" test -L ws/fine
    rm -f ws/fine
done
judged 'import os; os.symlink("../sub", "sub/up")'
check 'control: and one that climbs within it' test -L ws/sub/up

done_testing

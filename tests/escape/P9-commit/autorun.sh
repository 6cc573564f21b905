#!/usr/bin/env bash
# P9: files that programs outside run by themselves are not real, whatever way they are made.
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

judged 'open("fine", "w").write("x")'
is 'control: an ordinary file is real' "$status $(cat ws/fine)" 'ok x'
attack() { # PATH CODE
    judged "import os
os.makedirs(os.path.dirname('$1') or '.', exist_ok=True)
$2"
    check "$1: not real ($status)" test ! -e "ws/$1" -a ! -L "ws/$1"
    unlike "$1: not called a success" "$status" ok
}
for path in .envrc .vscode/tasks.json .vscode/settings.json .husky/pre-commit .claude/settings.json .cursor/rules/x .mcp.json .idea/workspace.xml \
    .devcontainer/devcontainer.json .git/hooks/post-checkout .githooks/pre-commit; do
    attack "$path" "open('$path', 'w').write('evil')"
    attack "deep/er/$path" "open('deep/er/$path', 'w').write('evil')"
done
attack 'a/.git/hooks/pre-commit' "os.makedirs('b'); open('b/pre-commit', 'w').write('evil'); os.rmdir('a/.git/hooks'); os.rename('b', 'a/.git/hooks')"
attack 'a/.envrc' "open('x', 'w').write('evil'); os.link('x', 'a/.envrc')"
attack 'a/.envrc' "open('x', 'w').write('evil'); os.rename('x', 'a/.envrc')"
attack 'a/.envrc' "open('evil', 'w').write('evil'); os.symlink('../evil', 'a/.envrc')"
attack 'a/.git/config' "open('a/.git/config', 'w').write('[core]\n fsmonitor = evil\n')"
attack 'a/.git/info/attributes' "open('a/.git/info/attributes', 'w').write('* filter=evil\n')"
attack 'a/.git/modules/m/config' "open('a/.git/modules/m/config', 'w').write('[core]\n fsmonitor = evil\n')"
# What stands where the directory of such files is looked for.
attack 'a/.git' "os.makedirs('evil/hooks'); open('evil/hooks/pre-commit', 'w').write('evil'); os.symlink('../evil', 'a/.git')"
attack 'a/.git' "os.makedirs('evil/hooks'); open('a/.git', 'w').write('gitdir: ../evil\n')"
attack 'a/.git/hooks' "os.makedirs('evil'); open('evil/pre-commit', 'w').write('evil'); os.symlink('../../evil', 'a/.git/hooks')"
attack 'a/.husky' "os.makedirs('evil'); open('evil/pre-commit', 'w').write('evil'); os.symlink('../evil', 'a/.husky')"
attack 'a/.vscode' "os.makedirs('evil'); open('evil/tasks.json', 'w').write('evil'); os.symlink('../evil', 'a/.vscode')"
attack 'a/.claude' "os.makedirs('evil'); open('evil/settings.json', 'w').write('evil'); os.symlink('../evil', 'a/.claude')"
# One that is there already, in a directory below.
mkdir -p ws/mine/.vscode
echo mine > ws/mine/.vscode/tasks.json
echo mine > ws/mine/.envrc
judged 'open("mine/.vscode/tasks.json", "a").write("evil"); open("mine/.envrc", "w").write("evil")'
is 'one that is there is not changed' "$(cat ws/mine/.envrc ws/mine/.vscode/tasks.json)" $'mine\nmine'
judged 'import os; os.chmod("mine/.envrc", 0o777)'
is 'nor is its mode' "$(stat -c %a ws/mine/.envrc)" 644
# Those that are only listed.
judged 'open("Makefile", "w").write("all:\n"); open("package.json", "w").write("{}")'
is 'others are real' "$status" ok
like 'and told' "$(jq -r '.warnings[]' "$scratch/result")" '*Makefile*package.json*'

done_testing

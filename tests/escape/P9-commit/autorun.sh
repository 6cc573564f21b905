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
held() { # PATH CODE
    attack "$@"
    is "$1: held" "$status" needs_confirmation
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
# A repository is one by what is in it, not by its name.
bare="for name in ('objects', 'refs/heads', 'hooks'): os.makedirs('x/' + name, exist_ok=True)
open('x/HEAD', 'w').write('ref: refs/heads/main\\n')"
held 'x/hooks/pre-receive' "$bare; open('x/hooks/pre-receive', 'w').write('evil')"
held 'x/config' "$bare; open('x/config', 'w').write('[core]\\n fsmonitor = evil\\n')"
held 'x/config' "$bare; os.symlink('../evil', 'x/config')"
held 'x/hooks' "os.makedirs('evil'); open('evil/update', 'w').write('evil')
$bare; os.rmdir('x/hooks'); os.symlink('../evil', 'x/hooks')"
held 'x/info/attributes' "$bare; open('x/info/attributes', 'w').write('* filter=evil\\n')"
held 'x/commondir' "open('x/HEAD', 'w').write('ref: refs/heads/main\\n'); open('x/commondir', 'w').write('../evil\\n')"
held 'hooks/x.git/hooks/update' "os.chdir('hooks'); os.rmdir('x.git/hooks'); os.rmdir('x.git')
$bare; os.rename('x', 'x.git'); open('x.git/hooks/update', 'w').write('evil')"
# In two runs: first what it would obey, then what makes it one.
for last in HEAD objects refs; do
    rm -rf ws/two
    judged "import os; os.makedirs('two/hooks'); open('two/hooks/update', 'w').write('evil'); open('two/config', 'w').write('[core]\\n fsmonitor = evil\\n')
for name in {'HEAD', 'objects', 'refs'} - {'$last'}: os.mkdir('two/' + name)"
    is "control: without $last it is none" "$status" ok
    judged "import os; os.mkdir('two/$last')"
    check "a repository by its last part, $last: not real ($status)" test ! -e "ws/two/$last"
done
# One that is there, and is changed.
git init -q --bare ws/there
judged 'open("there/config", "a").write("[core]\n fsmonitor = evil\n")'
refute 'one that is there: its settings' grep -q evil ws/there/config
judged 'open("there/hooks/update", "w").write("evil")'
refute 'one that is there: its hooks' test -e ws/there/hooks/update
judged 'import subprocess; subprocess.run(["git", "init", "-q", "--bare", "fresh"], check=True)'
is 'a bare repository as git makes it is real' "$status $(git -C ws/fresh rev-parse --is-bare-repository)" 'ok true'
# Worktrees: those of a repository whose settings they have are harmless, others are not.
judged 'import subprocess
subprocess.run("git init -q main && cd main && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m one && git worktree add -q ../tree -b side", shell=True, check=True)'
is 'a worktree is made' "$status $(git -C ws/tree log -1 --format=%s)" 'ok one'
judged 'open("main/.git/worktrees/tree/commondir", "w").write("/evil")'
is 'its repository stays' "$(cat ws/main/.git/worktrees/tree/commondir)" ../..
judged 'open("main/.git/worktrees/tree/config.worktree", "w").write("[core]\n fsmonitor = evil\n")'
refute 'and its settings' test -e ws/main/.git/worktrees/tree/config.worktree
top=$base/ws
held 'a/.git' "os.makedirs('main/.git/worktrees/w'); open('main/.git/worktrees/w/HEAD', 'w').write('ref: x'); open('main/.git/worktrees/w/commondir', 'w').write('../../../evil\\n'); open('a/.git', 'w').write('gitdir: $top/main/.git/worktrees/w\\n')"
held 'a/.git' "os.makedirs('evil/.git/worktrees/w'); os.symlink('../evil/.git', 'a/x'); open('evil/.git/worktrees/w/commondir', 'w').write('../..\\n'); open('a/.git', 'w').write('gitdir: $top/a/x/worktrees/w\\n')"
held 'a/.git' "os.makedirs('evil/worktrees/w'); os.makedirs('main/.git/worktrees', exist_ok=True); os.symlink('../../../evil/worktrees/w', 'main/.git/worktrees/l'); open('evil/worktrees/w/commondir', 'w').write('../..\\n'); open('a/.git', 'w').write('gitdir: $top/main/.git/worktrees/l\\n')"
held 'a/.git' "open('a/.git', 'w').write('gitdir: $top/main/.git/worktrees/tree/../../../../evil\\n')"
held 'a/.git' "open('a/.git', 'w').write('gitdir: $top/main/.git/worktrees/nowhere\\n')"
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

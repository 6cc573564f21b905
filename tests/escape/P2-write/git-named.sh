#!/usr/bin/env bash
# P2: what a repository's settings name in the workspace (more settings, and where hooks are) is
# protected as they are.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"

export GIT_CONFIG_NOSYSTEM=1 HOME=$PWD/home
mkdir -p home ws/config ws/.githooks ws/tools/hooks
git init -q ws
for file in ws/.gitconfig ws/config/more ws/config/other ws/config/deeper ws/.githooks/pre-commit ws/tools/hooks/pre-push; do
    printf '[x]\n' > "$file"
done
mark=$scratch/ran
printf '[include]\n\tpath = deeper\n[core]\n\thooksPath = tools/hooks\n' > ws/config/more
git -C ws config include.path ../.gitconfig
git -C ws config --add include.path "$PWD/ws/config/more"
git -C ws config includeIf.gitdir:/.path "$PWD/ws/config/other"
git -C ws config core.hooksPath .githooks
files='.gitconfig config/more config/other config/deeper .githooks/pre-commit .githooks/new tools/hooks/pre-push'
cp -r ws control
(cd control && printf '[core]\n\tfsmonitor = touch %s; false\n' "$mark" >> .gitconfig && git status) > /dev/null 2>&1
check 'control: outside it runs a program' test -e "$mark"
rm -f "$mark"
nacre run -w ws 'for f in '"$files"'; do { printf "[core]\n\tfsmonitor = touch '"$mark"'; false\n" >> $f; } 2> /dev/null && echo "GOT $f"; done; mv config x 2> /dev/null && echo GOT moved; echo free > config/free && echo done'
prints 'none of it can be changed' 'done'
git -C ws status > /dev/null 2>&1
check 'and nothing runs afterwards' test ! -e "$mark"
# The user's own settings can name a place in every repository.
git -C ws config --unset core.hooksPath
printf '[core]\n\thooksPath = .githooks\n' > home/.gitconfig
nacre run -w ws '{ echo harm > .githooks/pre-commit; } 2> /dev/null && echo GOT; echo done'
prints "where the user's settings say hooks are" 'done'
# What cannot be protected stops the run.
git -C ws config core.hooksPath .
nacre run -w ws 'touch ran'
complains 'hooks in the workspace itself: no run' 125 "nacre: *git: *hooks are taken from '$PWD/ws'*"
check 'nothing ran' test ! -e ws/ran

done_testing

#!/usr/bin/env bash
# P2: a repository cannot be made to take its settings and hooks from where the inside may write.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"

export GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
mark=$scratch/ran
git init -q ws
(cd ws && echo x > f && git add f && git commit -qm 1)
plant="mkdir -p evil; cp -r .git/HEAD .git/objects .git/refs evil/
    printf '[core]\n\trepositoryformatversion = 0\n\tfsmonitor = touch $mark; false\n' > evil/config; echo ../evil > .git/commondir"
(cd ws && bash -c "$plant" && git status) > /dev/null 2>&1
check 'control: outside it runs a program' test -e "$mark"
rm -rf "$mark" ws/evil ws/.git/commondir
nacre run -w ws "$plant; test -e .git/commondir && echo made"
like 'control: inside it can be made' "$out" made
like 'and is told' "$err" '*commondir*removed*'
(cd ws && git status) > /dev/null 2>&1
check 'afterwards nothing runs' test ! -e "$mark"
check 'for it is gone' test ! -e ws/.git/commondir
# Nor is a file of that name removed elsewhere, by a link in the place of the repository.
mkdir -p bare/.git "$scratch/victim"
echo kept > "$scratch/victim/commondir"
nacre run -w bare "rm -r .git; ln -s $scratch/victim .git; echo done"
prints 'control: it can be replaced by a link' 'done'
is_file 'which is not followed' "$scratch/victim/commondir" $'kept\n'
# Settings of submodules and of worktrees, which git reads from the main checkout.
mkdir -p ws/.git/modules/group/sub/hooks ws/.git/worktrees/other
echo '[core]' > ws/.git/modules/group/sub/config
touch ws/.git/modules/group/sub/HEAD ws/.git/config.worktree
echo ../.. > ws/.git/worktrees/other/commondir
nacre run -w ws 'for f in modules/group/sub/config modules/group/sub/hooks/post-commit config.worktree worktrees/other/commondir config hooks/x; do
    { echo harm >> .git/$f; } 2>/dev/null && echo "GOT $f"; done; mv .git/modules/group .git/x 2>/dev/null && echo "GOT moved"; echo done'
prints 'what is there of others cannot be changed' 'done'

done_testing

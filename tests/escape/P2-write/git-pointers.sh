#!/usr/bin/env bash
# P2: a repository that is not at .git itself is protected where it is, and what says where it is
# cannot be made to say something else.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"

umask 022
export GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
git init -q leaf
git -C leaf commit -q --allow-empty -m 1
add_lib() { git -c protocol.file.allow=always -C "$1" submodule --quiet add "$PWD/leaf" lib 2> /dev/null; }
attack() { # NAME WORKSPACE FILE…
    local name=$1 ws=$2
    shift 2
    nacre run -w "$ws" 'for f in '"$*"'; do test -e $f || echo "MISSING $f"
        { echo harm >> $f; } 2> /dev/null && echo "GOT $f"; mv $f x 2> /dev/null && echo "GOT $f moved"; rm -f $f 2> /dev/null; test -e $f || echo "GOT $f removed"; done; echo done'
    prints "$name" 'done'
}

mkdir separate
git init -q --separate-git-dir separate/.real separate
add_lib separate
attack 'in a directory of the workspace' separate .real/config .real/hooks/pre-commit.sample .real/modules/lib/config .git lib/.git

git init -q linked
mv linked/.git linked/.store
ln -s .store linked/.git
add_lib linked
attack 'behind a link' linked .store/config .store/modules/lib/config .git/modules/lib/config lib/.git

git init -q main
git -C main commit -q --allow-empty -m 1
git -C main worktree add -q "$PWD/main/inner" 2> /dev/null
git -C main worktree add -q "$PWD/tree" 2> /dev/null
attack 'a worktree in the workspace' main inner/.git .git/worktrees/inner/gitdir .git/worktrees/inner/commondir
attack 'a worktree as the workspace' tree .git "$PWD/main/.git/config" "$PWD/main/.git/worktrees/tree/gitdir"
add_lib main
attack 'a submodule as the workspace' main/lib .git "$PWD/main/.git/modules/lib/config"

git init -q --bare bare
attack 'the repository as the workspace' bare config hooks/pre-commit.sample
mkdir plain
nacre run -w plain --write-path "$PWD/main" "echo harm >> $PWD/main/.git/config; echo harm >> $PWD/main/.git/modules/lib/config; echo done" 2> /dev/null
is 'in a writable path' "$out$(grep -l harm main/.git/config main/.git/modules/lib/config)" 'done'
# A FIFO or a huge file in the place of one holds nobody up.
mkdir odd
mkfifo odd/.git odd/.gitmodules
nacre run -w odd --timeout 20s 'echo ran'
prints 'a FIFO is none' ran
rm odd/.git odd/.gitmodules
git init -q odd
head -c 3000000 /dev/zero | tr '\0' '#' > odd/.gitmodules
nacre run -w odd --timeout 20s 'echo ran'
prints 'a huge file is none either' ran

done_testing

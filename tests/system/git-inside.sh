#!/usr/bin/env bash
# git inside: commits under the caller's own name, repositories that lie partly outside of the
# workspace, and what of all that stays hidden.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

# Nobody but the owner may write where a repository is believed.
umask 022
here=$PWD
secret="secret-$(unique)"
home=$here/home
mkdir -p "$home/.ssh" "$home/elsewhere"
echo "$secret" > "$home/.ssh/id_rsa"
export HOME=$home
unset XDG_CONFIG_HOME
# The host's own git: only what this test writes counts.
export GIT_CONFIG_NOSYSTEM=1

who() { git -C "$1" log -1 --format='%an <%ae>|%cn <%ce>'; }

# --- identity ---------------------------------------------------------------------------------------

mkdir plain
nacre run -w plain 'git init -q . && echo x > f && git add f && git commit -q -m first'
unlike 'without an identity a commit fails, as it does outside' "$code" 0

cat > "$home/.gitconfig" << END
# comment
[User]
	name = "Ada \\"L\\" König" ; the person
	email = ada@example.org
	signingkey = $secret
[credential]
	helper = "!echo password=$secret"
[github]
	token = $secret
[url "https://$secret@example.org/"]
	insteadOf = https://example.org/
[core]
	hooksPath = $home/elsewhere
	pager = touch $here/pager-ran
	sshCommand = touch $here/ssh-ran
[alias]
	steal = "!cat $home/.ssh/id_rsa"
[include]
	path = elsewhere/more
END
printf '[commit]\n\tgpgsign = true\n[user]\n\tphone = %s\n' "$secret" > "$home/elsewhere/more"
printf '#!/bin/sh\ntouch %s/hook-ran\n' "$here" > "$home/elsewhere/pre-commit"
chmod 755 "$home/elsewhere/pre-commit"

nacre run -w plain 'git add f && git commit -q -m first && git log --format="%an <%ae>"'
prints 'a commit has the name and address of ~/.gitconfig' 'Ada "L" König <ada@example.org>'
is 'outside it is the same' "$(who plain)" 'Ada "L" König <ada@example.org>|Ada "L" König <ada@example.org>'
nacre run -w plain "git config --list --show-origin; cat ~/.gitconfig $home/.gitconfig $home/elsewhere/more; ls -A ~ ~/elsewhere; git steal; git log | cat; true"
unlike 'nothing else of that file is there, nor what it includes' "$out$err" "*$secret*"
unlike 'no hook, helper, pager or alias of it' "$out$err" '*elsewhere/pre*'
like 'control: git was asked' "$out" '*user.name=Ada*user.email=ada@example.org*'
check 'nothing of it ran' test ! -e hook-ran -a ! -e pager-ran -a ! -e ssh-ran
is 'the file is what it was' "$(grep -c "$secret" "$home/.gitconfig")" 4
nacre run -w plain 'git config --global user.name Eve; git config --global core.pager harm; git config --global user.name'
is 'inside it can be changed for the run' "$out" Eve
is 'which changes nothing outside' "$(git config -f "$home/.gitconfig" user.name)$(git config -f "$home/.gitconfig" core.pager)" "Ada \"L\" Königtouch $here/pager-ran"

git -C plain config user.email work@example.org
nacre run -w plain 'git commit -q --allow-empty -m second'
exits "a repository with an address of its own" 0
is 'that one wins' "$(who plain)" 'Ada "L" König <work@example.org>|Ada "L" König <work@example.org>'

# Included, and in the other place.
printf '[include]\n\tpath = elsewhere/who\n' > "$home/.gitconfig"
printf '[user]\n\tname = Included\n\temail = inc@example.org\n' > "$home/elsewhere/who"
mkdir other
nacre run -w other 'git init -q . && git commit -q --allow-empty -m x && git log --format="%an <%ae>"'
prints 'an identity that is included' 'Included <inc@example.org>'
rm "$home/.gitconfig"
mkdir -p "$home/.config/git" "$home/xdg/git"
printf '[user]\n\tname = Config\n\temail = c@example.org\n[x]\n\ttoken = %s\n' "$secret" > "$home/.config/git/config"
nacre run -w other 'git commit -q --allow-empty -m x && git log -1 --format="%an <%ae>"; git config -l --show-origin; ls -AR ~'
like 'the one of ~/.config/git/config' "$out" 'Config <c@example.org>*'
unlike 'alone' "$out$err" "*$secret*"
printf '[user]\n\tname = Xdg\n\temail = x@example.org\n' > "$home/xdg/git/config"
XDG_CONFIG_HOME=$home/xdg nacre run -w other 'git commit -q --allow-empty -m x && git log -1 --format="%an <%ae>"'
is 'the one of XDG_CONFIG_HOME' "$out" 'Xdg <x@example.org>'
printf '[user]\n\tname = Both\n' > "$home/.gitconfig"
nacre run -w other 'git commit -q --allow-empty -m x && git log -1 --format="%an <%ae>"'
is 'the file in home over the other, value by value' "$out" 'Both <c@example.org>'
mkfifo "$home/fifo"
ln -sf "$home/fifo" "$home/.gitconfig"
nacre run -w other --timeout 20s 'git config user.name'
is 'a configuration that is a pipe holds nothing up' "$out" Config
rm "$home/.gitconfig" "$home/fifo"
printf '[user]\n\tname = Ada\n\temail = ada@example.org\n' > "$home/.gitconfig"

# --- everyday work ------------------------------------------------------------------------------------

mkdir day
nacre run -w day 'git init -q -b main . && echo 1 > a && git add . && git commit -qm one && git checkout -q -b side && echo 2 > b && git add b && git commit -qm two && git checkout -q main && echo 3 > c && git add c && git commit -qm three && git merge -q -m merge side && git log --oneline | wc -l && git stash list && echo more >> a && git stash -q && git stash pop -q && git diff --stat | tail -1 && git tag v1 && git describe --tags && git gc -q && { git fsck 2>&1 | grep -vc dangling; git status --short; }'
is 'branches, merges, stashes, tags, gc' "$out" $'4\n 1 file changed, 1 insertion(+)\nv1\n0\n M a'
nacre run -w day 'git checkout -q a; git rebase -q --root -x true 2>&1; git bisect start -q HEAD HEAD~1 > /dev/null; git bisect reset -q; git blame -s a | cut -c10-; git worktree add -q inner side 2>&1 && git -C inner log --oneline | wc -l; git worktree remove inner; git submodule status; git grep -c 1'
like 'rebase, bisect, blame, worktree, grep' "$out" '*1*2*a:1'
nacre run -w day 'git clone -q . copy && git -C copy log --oneline | wc -l && git -C copy pull -q && git -C copy commit -q --allow-empty -m up && git -C copy push -q origin HEAD:refs/heads/pushed && git branch --list pushed; rm -rf copy'
like 'clone, pull and push within the workspace' "$out" '*pushed*'
nacre run -w day 'echo harm >> .git/config; git config core.fsmonitor "touch harm"; mkdir -p .git/hooks; echo harm > .git/hooks/pre-commit; mv .git/hooks .git/h2; true'
check 'the repository own hooks and settings are protected' test ! -e day/.git/hooks/pre-commit
is 'its settings too' "$(grep -c harm day/.git/config)" 0
is 'outside git still likes it' "$(git -C day status --short 2>&1)" ''

# --- a linked worktree ----------------------------------------------------------------------------------

mkdir -p area/main area/beside
echo "$secret" > area/beside/file
git -C area/main init -q -b main
git -C area/main config core.hooksPath "$here/area/main/.git/hooks"
git -C area/main config remote.origin.url "file://$here/nowhere"
echo base > area/main/base
echo "$secret" > area/main/untracked
git -C area/main add base
git -C area/main commit -q -m base
git -C area/main worktree add -q ../tree -b topic
tree=$here/area/tree
nacre run -w "$tree" 'git status --short --branch && git log --format=%s && echo new > new && git add new && git commit -q -m "from the tree" && git log -1 --format="%s %an" && git branch --list topic'
prints 'in a linked worktree: status, log, commit' $'## topic\nbase\nfrom the tree Ada\n* topic'
is 'the commit is in the main repository' "$(git -C area/main log -1 --format=%s topic)" 'from the tree'
is 'which is whole' "$(git -C area/main fsck 2>&1 | grep -v dangling)" ''
is 'what was written there belongs to its owner' "$(find area/main/.git ! -user "$(id -un)")" ''
nacre run -w "$tree" 'git stash list; echo x >> new; git stash -q; git stash pop -q; git checkout -q -b more; git commit -qam m; git tag t; git switch -q topic; git merge -q more; git gc -q; git fetch -q . more; git log --oneline | wc -l'
is 'stash, branch, tag, merge, gc there' "$out" 3
is 'branches and tags are there for the main one' "$(git -C area/main branch --list more | tr -d ' ')$(git -C area/main tag)" moret

before=$(cat area/main/.git/config; ls -A area/main/.git/hooks; cat area/main/.git/hooks/* 2> /dev/null | md5sum)
nacre run -w "$tree" "c=\$(git rev-parse --git-common-dir); echo \"\$c\"; git config core.pager harm; git config --worktree core.pager harm; echo harm >> \$c/config; echo harm > \$c/hooks/pre-commit; chmod 777 \$c/hooks/pre-commit; mv \$c/hooks \$c/h2; rm -rf \$c/hooks; mkdir \$c/hooks; echo harm > \$c/hooks/post-checkout; mv \$c/config \$c/c2; rm -f \$c/config; ln \$c/config hard; true"
like 'control: it knew the place' "$out" "$here/area/main/.git*"
is "the main repository's hooks and settings cannot be changed" \
    "$(cat area/main/.git/config; ls -A area/main/.git/hooks; cat area/main/.git/hooks/* 2> /dev/null | md5sum)" "$before"
is 'nothing there runs later' "$(git -C area/main config core.pager)$(git -C area/main status --short 2>&1)" '?? untracked'
nacre run -w "$tree" "cat $here/area/main/untracked $here/area/main/base $here/area/beside/file; ls -A $here/area $here/area/main; echo harm > $here/area/main/harm; echo harm > $here/area/beside/harm; cd $here/area/main && ls -A; true"
unlike 'nothing else beside the repository is seen' "$out$err" "*$secret*"
unlike 'not even by name' "$out" '*untracked*'
unlike 'nor is its other work tree' "$out" '*base*'
is 'and nothing is written there' "$(find area -name harm)" ''

# --- a submodule ------------------------------------------------------------------------------------------

git init -q -b main sublib
git -C sublib commit -q --allow-empty -m lib
git init -q -b main super
git -C super -c protocol.file.allow=always submodule --quiet add "$here/sublib" part
git -C super commit -q -m super
check 'control: a submodule has its repository outside of it' test -f super/part/.git -a -d super/.git/modules/part
nacre run -w super/part 'git status --short && echo s > s && git add s && git commit -q -m "in the part" && git log --format=%s'
prints 'a submodule as the workspace' $'in the part\nlib'
is 'the commit is outside, too' "$(git -C super/part log -1 --format=%s)" 'in the part'
before=$(cat super/.git/modules/part/config super/.git/config; ls -A super/.git/modules/part/hooks)
nacre run -w super/part 'echo harm >> ../.git/modules/part/config; echo harm > ../.git/modules/part/hooks/pre-commit; echo harm >> ../.git/config; echo harm > ../harm; git config core.pager harm; ls -A .. ../.git; true'
is 'its settings and hooks are held, the rest of the superproject is away' \
    "$(cat super/.git/modules/part/config super/.git/config; ls -A super/.git/modules/part/hooks)$(find super -name harm)" "$before"
unlike 'and not seen' "$out" '*.gitmodules*'
nacre run -w super 'git submodule status > s; cut -c1 s; rm s; git -C part log -1 --format=%s; git add part && git commit -q -m "part is newer" && git status --short'
prints 'the superproject as the workspace' $'+\nin the part'
git -C sublib commit -q --allow-empty -m newer
git -C super -c protocol.file.allow=always submodule --quiet add "$here/sublib" later
git -C super commit -q -m later
nacre run -w super --limit processes=20 'git -C later checkout -q HEAD~1 && git -C later log -1 --format=%s && git -C later commit -q --allow-empty -m inside && git -C later log -1 --format=%s && git submodule foreach --quiet "git status --short"'
prints 'submodules are checked out, and committed to' $'lib\ninside'
rm -rf super/later super/.git/modules/later
nacre run -w super --limit processes=20 --read-path "$here/sublib" 'git -c protocol.file.allow=always submodule --quiet update later 2>&1; git -C later log -1 --format=%s; git config --local core.pager harm; git worktree add -q --detach wt && git -C wt log -1 --format=%s && git worktree remove wt && git stash list && git gc -q && echo kept'
is 'one that is not there yet is cloned, and worktrees are made and removed' "$out" $'newer\nlater\nkept'
is 'settings are held as ever' "$(git -C super config core.pager)" ''

# --- a .git file that lies ----------------------------------------------------------------------------------

forged() { # NAME TARGET: a workspace whose .git says that
    rm -rf lie
    mkdir lie
    printf 'gitdir: %s\n' "$2" > lie/.git
    nacre run -w lie --timeout 20s "cat $2/* $2/../* $2/../../* $here/area/main/untracked $home/.ssh/id_rsa; ls -AR $2 $2/../..; git status; echo harm > $2/harm; true"
    unlike "$1: shows nothing" "$out$err" "*$secret*"
    is "$1: and lets nothing be written" "$(find home area -name harm)" ''
}
forged 'a .git file that names ~/.ssh' "$home/.ssh"
forged 'one that names home' "$home"
forged 'one that names the administration of another worktree' "$here/area/main/.git/worktrees/tree"
forged 'one that names the main repository' "$here/area/main/.git"
ln -s "$here/area/main/.git/worktrees/tree" link-to-admin
forged 'by a link' "$here/link-to-admin"
forged 'by dots' "$here/area/main/.git/objects/../worktrees/tree"
mkdir -p home/.ssh/worktrees/w
printf '%s\n' "$here/lie/.git" > home/.ssh/worktrees/w/gitdir
echo ../.. > home/.ssh/worktrees/w/commondir
forged 'one that names a directory that is no repository, though it names back' "$home/.ssh/worktrees/w"
nacre run -w "$tree" "mkdir -p fake/worktrees/w fake/objects fake/refs; echo 'ref: x' > fake/HEAD; ln -s $home/.ssh fake/objects/ssh; echo $tree/.git > fake/worktrees/w/gitdir; echo $home > fake/worktrees/w/commondir; true"
cp "$tree/.git" "$scratch/tree-git"
printf 'gitdir: %s/fake/worktrees/w\n' "$tree" > "$tree/.git"
nacre run -w "$tree" "cat $home/.ssh/id_rsa; ls -A $home; true"
unlike 'a repository that was forged in the workspace opens nothing' "$out$err" "*$secret*"
cp "$scratch/tree-git" "$tree/.git"
rm -rf lie
mkdir lie
mkfifo lie/.git
nacre run -w lie --timeout 20s 'echo ran'
is 'a .git that is a pipe holds nothing up' "$out" ran
rm lie/.git
head -c 3000000 /dev/zero | tr '\0' g > lie/.git
nacre run -w lie --timeout 20s 'echo ran'
is 'nor one that is huge' "$out" ran

# An agent whose policy has git on its list commits, too.
if "$JUDGE" run --agent coder -w "$tree" 'git commit -q --allow-empty -m judged' > "$scratch/out" 2>&1; then
    is 'an agent commits in a worktree' "$(git -C area/main log -1 --format=%s topic)" judged
else
    not_ok 'an agent commits in a worktree' "$(cat "$scratch/out")"
fi

done_testing

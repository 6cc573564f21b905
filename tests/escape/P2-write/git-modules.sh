#!/usr/bin/env bash
# P2: settings and hooks of submodules that are there cannot be changed, whatever a submodule is
# called, however deep it lies, and wherever its repository is.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"

export GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
g() { git -c protocol.file.allow=always "$@" > /dev/null 2>&1; }
git init -q leaf
git -C leaf commit -q --allow-empty -m 1
git init -q middle
git -C middle commit -q --allow-empty -m 1
g -C middle submodule --quiet add "$PWD/leaf" deep
git -C middle commit -qm 2
git init -q ws
deep=a/b/c/d/e/f/g/h/i
for path in .vim/lib plain "$deep"; do g -C ws submodule --quiet add "$PWD/leaf" "$path"; done
g -C ws submodule --quiet add "$PWD/middle" nest
g -C ws submodule --quiet update --init --recursive
# As git made them before it had .git/modules: one on the list of submodules, one by its name alone.
for path in old named; do
    git clone -q leaf "ws/$path"
    g -C ws submodule --quiet add "$PWD/leaf" "$path"
done
git config -f ws/.gitmodules --remove-section submodule.named
git -C ws config submodule.named.url "$PWD/leaf"
git -C ws add .
git -C ws commit -qm 1
places=(.git/modules/.vim/lib .git/modules/plain ".git/modules/$deep" .git/modules/nest .git/modules/nest/modules/deep old/.git named/.git)
for place in "${places[@]}"; do
    check "control: there is $place" test -f "ws/$place/config"
    mkdir -p "ws/$place/hooks"
done
attack() { # MESSAGE
    nacre run -w ws 'for p in '"${places[*]}"'; do
        for f in config hooks/post-checkout; do { echo harm >> "$p/$f"; } 2> /dev/null && echo "GOT $p/$f"; done
        mv "$p/config" x 2> /dev/null && echo "GOT $p/config moved"; mv "$p" "$p.moved" 2> /dev/null && echo "GOT $p moved"; done
        for f in .vim/lib/.git plain/.git nest/.git nest/deep/.git; do { echo "gitdir: x" > $f; } 2> /dev/null && echo "GOT $f"; rm -f $f 2> /dev/null && echo "GOT $f removed"; done; echo done'
    prints "$1" 'done'
}
attack 'what is there cannot be changed'
# A first run makes ready for a second.
nacre run -w ws 'touch .git/modules/.vim/HEAD .git/modules/a/HEAD .git/modules/a/b/HEAD; mv .git/modules/plain/HEAD x; echo ready'
prints 'control: a run that makes repositories look like none' ready
attack 'nor afterwards'
mv ws/x ws/.git/modules/plain/HEAD
# A file by which git takes settings from elsewhere, for a submodule.
nacre run -w ws 'for m in plain .vim/lib nest/modules/deep; do echo ../evil > .git/modules/$m/commondir; done; echo ../x > old/.git/commondir; echo made'
is 'control: commondir can be made' "$out" made
is 'and is gone afterwards' "$(find ws -name commondir)" ''

done_testing

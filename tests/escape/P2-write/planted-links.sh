#!/usr/bin/env bash
# P2: a link that one run leaves where it may write makes nothing else writable for the next.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"

umask 022
export HOME=$PWD/home
mkdir -p home/proj/out home/cache/sub home/private
echo original > home/private/file
config() { printf '%s\n' "$@" > "$scratch/config.yaml"; }
with() { nacre run -w home/proj --config "$scratch/config.yaml" "$@"; }

config 'paths: {write: [~/proj/out]}'
with 'rmdir out && ln -s '"$HOME"'/private out && echo planted'
prints 'control: a link in the workspace' planted
with "echo harm > $HOME/private/file; echo harm > out/file; echo tried"
is_file 'what it leads to is not writable' home/private/file $'original\n'
complains 'the run is refused' 125 "nacre: *paths.write: '~/proj/out' leads through a link*"

config 'paths: {write: [~/cache, ~/cache/sub]}'
rm -rf home/cache/sub
ln -s ../private home/cache/sub
with "echo harm > $HOME/private/file; echo harm > ~/cache/sub/file; echo tried"
is_file 'nor is it by a link in a writable path' home/private/file $'original\n'

# The worktree of another repository lies in a writable path; a link makes it this workspace.
export GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
git init -q home/other
git -C home/other commit -q --allow-empty -m 1
git -C home/other worktree add -q "$HOME/cache/tree" 2> /dev/null
mkdir home/plain
config 'paths: {write: [~/cache]}'
nacre run -w home/plain --config "$scratch/config.yaml" 'cp ~/cache/tree/.git .git; rm -rf ~/cache/tree; ln -s '"$HOME"'/plain ~/cache/tree; test -L ~/cache/tree && echo planted'
prints 'control: a link in the place of a worktree' planted
nacre run -w home/plain --config "$scratch/config.yaml" "echo harm > $HOME/other/.git/harm; echo tried"
like 'control: tried' "$out" tried
check 'the other repository is not writable' test ! -e home/other/.git/harm

done_testing

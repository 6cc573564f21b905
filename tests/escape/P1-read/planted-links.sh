#!/usr/bin/env bash
# P1: a link that one run leaves where it may write decides nothing of what the next run is shown,
# be it a listed path or a toolchain.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"

umask 022
export HOME=$PWD/home
secret="secret-$(unique)"
mkdir -p home/private home/go/bin home/cache/docs home/proj/shared
echo "$secret" > home/private/file
config() { printf '%s\n' "$@" > "$scratch/config.yaml"; }
with() { nacre run -w home/proj --config "$scratch/config.yaml" "$@"; }

# A toolchain in a writable path.
config 'paths: {write: [~/go]}'
PATH=$HOME/go/bin:$PATH with 'rmdir ~/go/bin && ln -s '"$HOME"'/private ~/go/bin && echo planted'
prints 'control: a link in the place of a toolchain' planted
PATH=$HOME/go/bin:$PATH with 'cat ~/private/file ~/go/bin/file; echo looked'
unlike 'a toolchain is not where it leads' "$out$err" "*$secret*"
like 'control: it looked' "$out" '*looked'

# A listed path in a writable path.
config 'paths: {write: [~/cache], read: [~/cache/docs]}'
with 'rmdir ~/cache/docs && ln -s '"$HOME"'/private ~/cache/docs && echo planted'
prints 'control: a link in the place of a listed path' planted
with 'cat ~/private/file ~/cache/docs/file; echo looked'
unlike 'what it leads to is not shown' "$out" "*$secret*"
complains 'the run is refused, with the remedy' 125 "nacre: *paths.read: '~/cache/docs' leads through a link that a command could have made; list where it leads"
config 'paths: {write: [~/cache], read: [~/cache/docs/deeper]}'
mkdir home/private/deeper
cp home/private/file home/private/deeper/
with 'cat ~/private/deeper/file'
exits 'so it is with a link on the way' 125

# One in the workspace.
config 'paths: {read: [~/proj/shared]}'
with 'rmdir shared && ln -s '"$HOME"'/private shared && echo planted'
prints 'control: a link in the workspace' planted
with 'cat ~/private/file shared/file; echo looked'
unlike 'what it leads to is not shown either' "$out" "*$secret*"
exits 'but refused' 125
nacre run -w home/proj --read-path "$HOME/proj/shared" 'cat ~/private/file'
exits 'as an option, too' 125
# By a link outside that leads to one inside.
ln -s proj/shared home/outer
config 'paths: {read: [~/outer]}'
with 'cat ~/private/file ~/outer/file'
unlike 'nor by way of another link' "$out" "*$secret*"
# A link that no command could have made counts as ever.
ln -s private home/mine
config 'paths: {read: [~/mine]}'
with 'cat ~/mine/file'
prints "control: a link of the user's own is followed" "$secret"

done_testing

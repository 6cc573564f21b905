#!/usr/bin/env bash
# P2: what is protected by a name with a link in it does not become writable when one run replaces the link.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"

mkdir -p ws/real
echo original > ws/real/deploy
ln -s real ws/link
config() { printf '%s\n' "$@" > "$scratch/config.yaml"; }
with() { nacre run -w ws --config "$scratch/config.yaml" "$@"; }

config 'paths: {protect: [link/deploy]}'
with 'rm link; mkdir link; echo moved'
complains 'the run is refused, with the remedy' 125 "nacre: *paths.protect: 'link/deploy' leads through a link that a command could change; list 'real/deploy' too"
with 'echo harm > real/deploy; echo harm > link/deploy; true'
is_file 'the next run does not write it' ws/real/deploy $'original\n'
config 'paths: {protect: [link/deploy, real/deploy]}'
with 'rm link; mkdir link; test -d link && echo moved'
prints 'control: with both on the list it runs' moved
with 'echo harm > real/deploy; mv real x; rm -rf real; true'
is_file 'and it stays protected' ws/real/deploy $'original\n'
# What is built in covers what it leads to, and asks for nothing.
rm -rf ws/link
mkdir -p ws/editor
echo original > ws/editor/tasks.json
ln -s editor ws/.vscode
nacre run -w ws 'echo harm > editor/tasks.json; echo harm > .vscode/tasks.json; echo tried'
is 'control: a built-in entry that is a link' "$out" tried
is_file 'leads to what it protects' ws/editor/tasks.json $'original\n'

done_testing

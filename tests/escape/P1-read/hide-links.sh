#!/usr/bin/env bash
# P1: what is hidden by a name with a link in it does not come to light when one run replaces the link.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"

secret="secret-$(unique)"
mkdir -p ws/realconf
echo "$secret" > ws/realconf/secret
ln -s realconf ws/conf
config() { printf '%s\n' "$@" > "$scratch/config.yaml"; }
with() { nacre run -w ws --config "$scratch/config.yaml" "$@"; }

config 'paths: {hide: [conf/secret]}'
with 'rm conf; mkdir conf; echo moved'
complains 'the run is refused, with the remedy' 125 "nacre: *paths.hide: 'conf/secret' leads through a link that a command could change; list 'realconf/secret' too"
with 'cat realconf/secret'
unlike 'the next run does not read it' "$out" "*$secret*"
for also in realconf/secret realconf; do
    rm -rf ws/conf
    ln -s realconf ws/conf
    config "paths: {hide: [conf/secret, $also]}"
    with 'cat conf/secret realconf/secret; rm conf; mkdir conf; test -d conf && echo moved'
    is "control: with $also on the list it runs" "$out" moved
    with 'cat realconf/secret conf/secret; echo looked'
    is "and it stays hidden: $also" "$out" looked
done
# An entry that goes the same way is no help.
rm -rf ws/conf
ln -s realconf ws/conf
config 'paths: {hide: [conf/secret, conf]}'
with 'echo ran'
exits 'another name by the same link does not count' 125

done_testing

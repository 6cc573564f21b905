#!/usr/bin/env bash
# Runs alone.
# P7: many processes that take a little memory each are one tree.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"
# shellcheck source=tests/escape/bomb.sh
. "$(dirname "$0")/../bomb.sh"

cp "$TOOLS/attack_bomb" .
tag=$(unique)
bomb --limit memory=64MB --limit processes=40 "for i in \$(seq 20); do ./attack_bomb memory one 12 & done; sleep 3; echo all; : $tag"
ended 'twenty processes'
unlike 'twenty processes: not all of them were there' "$out" '*held*held*held*held*held*held*held*held*held*held*held*'
bomb --limit memory=64MB --limit processes=40 'for i in $(seq 20); do (setsid ./attack_bomb memory one 12 &) ; done; sleep 3; echo all'
ended 'twenty sessions'
# A text that grows in the shell itself, and one in a pipe.
bomb --limit memory=64MB 'x=aaaaaaaaaaaaaaaa; while :; do x=$x$x; done'
ended 'a variable'
bomb --limit memory=64MB 'head -c 300M /dev/zero | tail -c 299M | wc -c'
ended 'a pipe with a long memory'
is_gone 'nothing is left' 'attack_bomb memory one 12'

done_testing

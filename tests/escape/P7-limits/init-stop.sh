#!/usr/bin/env bash
# Runs alone.
# P7: the inside cannot put off its end: not by stopping process 1, not by flooding it with children.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"

tag=$(unique)
start=$SECONDS
nacre run --timeout 1s "kill -STOP 1; kill -STOP \$PPID; (setsid sleep $tag &); sleep $tag; :"
exits 'SIGSTOP to process 1 does not put off the time limit' 124
check 'by much' test $((SECONDS - start)) -lt 12
is_gone 'nothing is left' "$tag"
nacre run --timeout 2s "trap '' CHLD; while :; do (exit) & done 2>/dev/null; : $tag"
exits 'nor do children that die' 124
nacre run --timeout 1s "while :; do setsid sleep $tag & sleep 0.002; done 2>/dev/null"
exits 'nor children that live' 124
is_gone 'all of them are gone' "$tag"

done_testing

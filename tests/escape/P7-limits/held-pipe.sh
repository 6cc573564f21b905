#!/usr/bin/env bash
# Runs alone.
# P7: a child that keeps the output open, and lives, does not keep the caller waiting; nor does one
# that floods, or one that is stopped.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"

tag=$(unique)
try() { # NAME TEXT
    local start=$SECONDS
    nacre run --timeout 60s --limit processes=20 "$2"
    check "$1: the caller has its answer" test $((SECONDS - start)) -lt 5
    like "$1: with the output" "$out" '*said*'
    is_gone "$1: nobody is left" "$tag"
}
try 'a child that holds both streams' "echo said; sleep $tag &"
try 'in a session of its own' "echo said; setsid sleep $tag &"
try 'a stopped one' "echo said; sleep $tag & kill -STOP \$!"
try 'one that writes on' "echo said; (while :; do echo $tag; sleep 0.01; done) & (setsid yes $tag > /dev/null &); sleep 0.1"
try 'one that duplicated them' "echo said; bash -c 'exec 5>&1 6>&2 7>&1 > /dev/null 2>&1; sleep $tag' &"
try 'one that passed them on' "echo said; mkfifo /tmp/f; (cat /tmp/f; : $tag) & sleep $tag > /tmp/f &"
# An input that never ends, and that nobody reads.
mkfifo "$scratch/pipe"
sleep "$tag" > "$scratch/pipe" &
writer=$!
start=$SECONDS
nacre run --timeout 60s 'echo said' < "$scratch/pipe"
is 'an input without an end: the answer is there' "$out" said
check 'an input without an end: in time' test $((SECONDS - start)) -lt 5
kill "$writer"

done_testing

#!/usr/bin/env bash
# Runs alone.
# P7: the time limit holds although the caller does not read what the command prints, or shares its
# standard input with others who take it away.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"

tag=$(unique)
# The text comes on standard input, so that nacre's own arguments do not have the tag.
text="yes & bash -c 'sleep 30; :' $tag & for i in {1..20}; do echo x >> ticks; sleep 1; done"
printf '%s' "$text" | "$NACRE" run --timeout 1s - 2> /dev/null | {
    sleep 5
    is_gone 'a caller that does not read: everything is dead all the same' "$tag"
}
# What it did is real when nacre itself can end: with its reader gone.
check 'it did run' wait_until 10 test -s ticks
check 'and not for long' test "$(wc -l < ticks)" -le 3

# A SIGTERM ends a run whose output nobody reads.
mkfifo held
tail -f /dev/null < held &
reader=$!
"$NACRE" run "yes; : $tag" > held 2> /dev/null &
runner=$!
sleep 1
kill -TERM "$runner"
for _ in {1..50}; do
    kill -0 "$runner" 2> /dev/null || break
    sleep 0.1
done
refute 'a signal frees a run that is stuck on its output' kill -0 "$runner"
is_gone 'and nothing of it is left' "$tag"
kill "$reader" 2> /dev/null

# Two readers on one pipe: what poll promised, the other one took.
mkfifo shared
sleep 20 > shared &
writer=$!
(for _ in {1..200}; do dd bs=1 count=1 of=/dev/null status=none; done < shared) &
thief=$!
start=$SECONDS
(for _ in {1..100}; do printf xx > shared; sleep 0.02; done) &
feeder=$!
nacre_from_shared() { "$NACRE" run --timeout 2s 'sleep 60' < shared > /dev/null 2>&1; }
nacre_from_shared
is 'a shared standard input: exit status' "$?" 124
check 'in time' test $((SECONDS - start)) -lt 15
kill "$writer" "$thief" "$feeder" 2> /dev/null

done_testing

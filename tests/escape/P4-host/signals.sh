#!/usr/bin/env bash
# P4: no process of the host can be signalled, stopped or traced from inside.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"

cp "$TOOLS/attack" .
tag=$(unique)
sleep "$tag" &
victim=$!
nacre run "./attack signal $victim $$ $PPID -$victim; kill -9 $victim; kill -STOP $$; kill -9 -$$; pkill -9 -f $tag; killall -9 sleep; echo done"
like 'control: it was tried' "$out" '*done*'
check 'the host'"'"'s process is alive' kill -0 "$victim"
is 'and was not stopped' "$(awk '/^State:/ {print $2}' "/proc/$victim/status")" S
nacre run 'kill -9 -1; echo unreached'
check 'kill -1 from inside: the host'"'"'s process is alive' kill -0 "$victim"
nacre run '(kill -TERM -1); ./attack signal -1; true'
check 'every signal to all: the host'"'"'s process is alive' kill -0 "$victim"
# The supervisor and the guard are out of reach too: the run ends as it should.
nacre run 'for p in $(seq 1 400); do [ "$p" = $$ ] || kill -9 "$p" 2>/dev/null; done; echo survived'
prints 'kill of every low number: nacre is there to tell' survived
nacre run "for p in $$ $PPID $victim; do ./attack trace \$p; done"
unlike 'no process of the host can be traced' "$out" '*GOT*'
kill "$victim"

done_testing

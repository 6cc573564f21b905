#!/usr/bin/env bash
# P4, P7: signals to its own group, to everybody, and to its parent do not reach the guard or the
# caller: the run ends as it should, and is reported.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"

tag=$(unique)
sleep "$tag" &
brother=$!
for text in 'kill -KILL 0' 'kill -STOP 0' 'kill -TERM 0' 'kill -KILL -1' 'kill -KILL $PPID; kill -STOP $PPID; kill -KILL 1; exit 7' 'kill -HUP -$$; kill -KILL $$' 'for s in $(seq 1 64); do kill -$s $PPID 1 -1; done 2>/dev/null' 'setsid bash -c "kill -KILL -1"; exit 7' 'trap "" TERM; kill -TERM -1; kill -STOP 1; exit 7'; do
    start=$SECONDS
    "$NACRE" run --json --timeout 2s "(sleep $tag & ); $text" > "$scratch/out" 2> "$scratch/err"
    check "$text: there is a result" jq -e '.status == "failed" or .status == "killed" or .status == "timeout" or .status == "ok"' "$scratch/out"
    check "$text: in time" test $((SECONDS - start)) -lt 8
    check "$text: the host's process lives" kill -0 "$brother"
done
is "nor was it stopped" "$(awk '/^State:/ {print $2}' "/proc/$brother/status")" S
kill "$brother"
wait "$brother" 2> /dev/null
is_gone 'nothing of it is left' "sleep $tag"

done_testing

#!/usr/bin/env bash
# Runs alone.
# A flood of output: nacre's memory stays small, the flood is drained and counted, the time limit
# holds. The result's limits are those of capture.h.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

limit_kb=65536
size=$((SOAK << 30))

flood() { # ARGUMENTS OF NACRE…: leaves $code, $peak and $scratch/out
    "$TOOLS/peak" "$scratch/peak" "$NACRE" "$@" > "$scratch/out" 2> "$scratch/err"
    code=$?
    peak=$(cat "$scratch/peak")
    # shellcheck disable=SC2034 # for the checks of lib.sh
    out=$(head -c 300 "$scratch/out" | tr -d '\0') err=$(head -c 300 "$scratch/err")
}
stays_small() {
    if [ "$peak" -gt 100 ] && [ "$peak" -lt $limit_kb ]; then ok "$1 (peak $peak KB)"; else
        not_ok "$1" "the peak was $peak KB"
    fi
}
holds() { # NAME FILTER [jq options]
    local name=$1 filter=$2
    shift 2
    check "$name" jq -e "$@" "$filter" "$scratch/out"
}

flood run --json --timeout 600s "head -c $size /dev/zero | tr '\0' 'a'"
exits 'a flood on standard output ends as the command does' 0
holds 'it is counted and truncated' '.stdout_truncated and .stdout_bytes == $n and (.stdout | length) <= 1048700' --argjson n "$size"
stays_small 'memory stays small'

flood run --json --timeout 600s "yes 'a line of text' | head -c $size"
holds 'a flood of lines' '.stdout_truncated and .stdout_bytes == $n' --argjson n "$size"
stays_small 'memory stays small with lines'

flood run --timeout 600s --limit output=10MB "head -c $size /dev/zero"
exits 'text mode' 0
is 'shows as much as the limit' "$(($(stat -c %s "$scratch/out") / 1000000))" 10
stays_small 'memory stays small in text mode'

half=$((size / 2))
flood run --json --timeout 600s "head -c $half /dev/zero & head -c $half /dev/zero >&2; wait"
holds 'both streams at once' '.stdout_truncated and .stderr_truncated and .stdout_bytes == $n and .stderr_bytes == $n' --argjson n "$half"
stays_small 'memory stays small with both'

flood run --json --timeout 600s 'head -c 300000000 /dev/zero >&2; echo end'
holds 'a flood on standard error alone' '.stderr_truncated and .stderr_bytes == 300000000 and .stdout == "end\n"'

tag=$(unique)
flood run --json --timeout 2s "trap '' PIPE TERM INT HUP; yes $tag & yes $tag >&2 & yes $tag; :"
exits 'a flood without end is stopped at the time limit' 124
holds 'its status is timeout, with what there was' '.status == "timeout" and .stdout_truncated and .stdout_bytes > 1000000 and .duration_ms < 20000'
stays_small 'memory stays small without end'
is_gone 'nothing is left of it' "$tag"

# The inside ignores SIGPIPE and errors; outside, the reader goes away at once.
tag=$(unique)
timeout 60 "$NACRE" run "trap '' PIPE; : $tag; while :; do echo line; done 2>/dev/null" 2> "$scratch/err" | head -1 > "$scratch/first"
is 'a reader that goes away has its line' "$(cat "$scratch/first")" line
is_gone 'and ends it all, though the inside ignores SIGPIPE' "$tag"

# A reader that stops reading must not hold up the time limit.
tag=$(unique)
start=$SECONDS
{ "$NACRE" run --timeout 2s "yes $tag; :" 2> /dev/null; echo $? > "$scratch/code"; } | { exec sleep 30; } &
pid=$!
check 'the flood runs' wait_until 10 alive "^yes $tag"
if wait_until 14 dead "^yes $tag"; then ok 'a reader that stalls does not hold up the time limit'; else
    not_ok 'a reader that stalls does not hold up the time limit' "alive after $((SECONDS - start)) s:" "$(pgrep -af "^yes $tag")"
fi
kill "$pid" 2> /dev/null
wait "$pid" 2> /dev/null
pgrep -f -- "$tag" | xargs -r kill -KILL

done_testing

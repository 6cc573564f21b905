#!/usr/bin/env bash
# P8, P10: names that a terminal would obey are escaped by undo, redo, commit, discard and diff.
# shellcheck disable=SC2016,SC2317 # texts for the inside; functions that are called by traps

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"
base=$PWD
mkdir ws store
export XDG_STATE_HOME=$base/store
trap 'chmod -R u+rwx "$base" 2> /dev/null; rm -rf "$scratch"' EXIT

nacre run -w ws --json --stage 'n=$(printf "\033]0;x\007\r\b\342\200\256end"); echo 1 > "$n"; mkdir "d$n"; echo 1 > "d$n/f"; printf x > "$(printf "\233\377")"'
id=$(jq -r .correlation_id "$scratch/out")
odd() { LC_ALL=C grep -c -a -P '[\x00-\x08\x0b-\x1f\x7f]|\xe2\x80\xae|\x9b' "$@"; }
is 'the result has none' "$(odd "$scratch/out")" 0
on_terminal() { env TERM=xterm PAGER= NO_COLOR=1 script -qec "$*" /dev/null < /dev/null | tr -d '\r'; }
clean() { # NAME COMMAND…
    on_terminal "${@:2}" > "$scratch/shown" 2>&1
    is "$1" "$(odd "$scratch/shown")" 0
}
clean 'diff' "$NACRE" diff "$id"
clean 'diff --stat' "$NACRE" diff --stat "$id"
clean 'commit' "$NACRE" commit "$id"
for name in ws/*; do if [ -f "$name" ]; then echo edit >> "$name"; fi; done
clean 'undo, with conflicts' "$NACRE" undo "$id"
like 'control: they are listed' "$(cat "$scratch/shown")" '*changed since*'
clean 'undo --json' "$NACRE" undo --json "$id"
rm -r ws/*
clean 'undo, when they are gone' "$NACRE" undo "$id"
is 'and all of them are told' "$(grep -c 'is gone' "$scratch/shown")" 4
clean 'an id that is not one' "$NACRE" undo "\$(printf '\033]0;x\007')"

done_testing

#!/usr/bin/env bash
# P9: where changes are kept in a workspace of another file system, nothing is believed that nacre did not make: not a
# store that came with the files, not pipes in it; and it is hidden whatever the workspace is called.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"

base=$(mktemp -d /dev/shm/nacre-test.XXXXXX)
trap 'chmod -R u+rwx "$base"; rm -rf "$scratch" "$base"' EXIT
ws=$base/x/runs/ws
mkdir -p "$ws"
nacre run -w "$ws" 'echo x > a; ls .nacre-store; echo harm > .nacre-store/planted; cat .nacre-store/stamp; echo looked'
is 'a name with /runs/ in it: the store is not seen' "$out" looked
check 'nor written to' test ! -e "$ws/.nacre-store/planted"
is_file 'control: the run was real' "$ws/a" $'x\n'

planted=$base/planted
mkdir -p "$planted/.nacre-store/pending" "$planted/.nacre-store/runs"
mkfifo "$planted/.nacre-store/stamp" "$planted/.nacre-store/log" "$planted/.nacre-store/overlay"
timeout 20 "$NACRE" run -w "$planted" 'echo harm > made' > "$scratch/out" 2> "$scratch/err"
is 'a store that came with the files is not used' "$?" 125
like 'and is named' "$(cat "$scratch/err")" '*.nacre-store*not made by nacre here*'
check 'nothing ran' test ! -e "$planted/made"
done_testing

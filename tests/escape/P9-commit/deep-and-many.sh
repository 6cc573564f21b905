#!/usr/bin/env bash
# P9: trees of any depth, many files and long names: all of it, or nothing and an error.
# shellcheck disable=SC2016,SC2317 # texts for the inside; functions that are called by traps

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"
base=$PWD
mkdir ws store
export XDG_STATE_HOME=$base/store
trap 'chmod -R u+rwx "$base" 2> /dev/null; rm -rf "$scratch"' EXIT

cat > "$scratch/deep.py" << 'P'
import os, sys
for i in range(int(sys.argv[1])):
    os.mkdir(sys.argv[2])
    os.chdir(sys.argv[2])
open("bottom", "w").close()
P
depth() { /usr/bin/python3 -c 'import os
n = 0
try:
    os.chdir("ws")
    while True:
        os.chdir("d")
        n += 1
except OSError:
    print(n)'; }
left() { find store/nacre/store/*/runs -mindepth 1 -maxdepth 1 | wc -l; }
nacre run -w ws --json --read-path "$scratch/deep.py" "/usr/bin/python3 $scratch/deep.py 1000 d"
is '1000 levels are real' "$(jq -r .status "$scratch/out") $(depth)" 'ok 1000'
check 'undone' "$NACRE" undo "$(jq -r .correlation_id "$scratch/out")"
is 'and gone' "$(ls -A ws)" ''
check 'discarded' "$NACRE" discard "$(jq -r .correlation_id "$scratch/out")"
is 'and nothing is kept' "$(left)" 0
nacre run -w ws --json --timeout 60s --read-path "$scratch/deep.py" "/usr/bin/python3 $scratch/deep.py 3000 d; echo x > beside"
if [ "$(jq -r .status "$scratch/out")" = ok ]; then is '3000 levels are real' "$(depth)" 3000; else
    like '3000 levels: said' "$(jq -r .error "$scratch/out")" '*too long*'
    is '3000 levels: nothing is real' "$(ls -A ws)" ''
    is '3000 levels: nothing is kept' "$(left)" 0
fi
nacre run -w ws --json --timeout 60s --read-path "$scratch/deep.py" "/usr/bin/python3 $scratch/deep.py 40 $(printf 'n%.0s' $(seq 255))"
if [ "$(jq -r .status "$scratch/out")" != ok ]; then is 'long names: nothing is real' "$(ls -A ws)" ''; else
    check 'long names: undone' "$NACRE" undo "$(jq -r .correlation_id "$scratch/out")"
fi
is 'long names: nothing is left' "$(ls -A ws)" ''

cat > "$scratch/many.py" << 'P'
import os
for i in range(2):
    os.mkdir(f"m{i}")
    for k in range(10000):
        open(f"m{i}/{k}", "w").write(str(k))
P
nacre run -w ws --json --timeout 60s --read-path "$scratch/many.py" "/usr/bin/python3 $scratch/many.py"
first=$(jq -r .correlation_id "$scratch/out")
is '20,000 files are real' "$(jq -r .status "$scratch/out") $(find ws -type f | wc -l)" 'ok 20000'
nacre run -w ws --json --timeout 60s 'cd m1; sed -i s/1/2/ 1*'
second=$(jq -r .correlation_id "$scratch/out")
is 'and a thousand of them changed one by one' "$(jq -r .status "$scratch/out") $(cat ws/m1/1)" 'ok 2'
start=$SECONDS
nacre undo "$first"
exits 'the first cannot be undone for the second' 1
like 'which is named' "$err" "*${second:0:8}*"
nacre undo --with-later "$first"
exits 'undone with it' 0
is 'all are gone' "$(ls -A ws)" ''
check "in good time ($((SECONDS - start)) s)" test $((SECONDS - start)) -lt 15

done_testing

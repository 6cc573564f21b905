#!/usr/bin/env bash
# P1: directories beside the workspace, and above it, are not there.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"

mkdir ws sibling
secret="secret-$(unique)"
echo "$secret" > sibling/file
echo "$secret" > above
here=$PWD
nacre run -w ws "cat ../sibling/file ../above $here/sibling/file $here/above; ls -a ..; ls -a $here"
unlike 'no sibling can be read' "$out$err" "*$secret*"
is 'nothing but the workspace is seen from above' "$(grep -v '^\.\.*$' <<< "$out" | sort -u)" ws
nacre run -w ws 'cd ..; cd ..; cd ../../../../../../..; pwd; ls -a'
like '.. ends at the root' "$out" '/'$'\n''*'
unlike 'which is not the host'"'"'s' "$out" '*boot*'
# Two runs at the same time: neither sees the other, nor its scratch.
mkdir one two
tag=$(unique)
"$NACRE" run -w one "echo $secret > /tmp/x; echo $secret > /dev/shm/x; echo $secret > x; echo $secret > ~/x; echo up; sleep 6 $tag" > "$scratch/one" 2> /dev/null &
pid=$!
check 'control: the other run is up' wait_until 10 grep -qs up "$scratch/one"
nacre run -w two "cat /tmp/x /dev/shm/x ../one/x ~/x $here/one/x; ls /proc; cat /proc/[0-9]*/cmdline /proc/[0-9]*/root/tmp/x | tr '\0' ' '; echo looked"
like 'control: the second run looked' "$out" '*looked*'
unlike 'another run'"'"'s files are not there' "$out$err" "*$secret*"
unlike 'nor its processes' "$out" "*sleep 6 $tag*"
kill "$pid"
wait "$pid"

done_testing

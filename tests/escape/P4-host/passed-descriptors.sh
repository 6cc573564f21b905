#!/usr/bin/env bash
# P4: no descriptor crosses the wall by a socket: none of the host is taken in, none of the inside
# handed out.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"

mkdir ws out
cp "$TOOLS/attack_net" ws/
secret="secret-$(unique)"
echo "$secret" > out/secret
log=$scratch/log
: > "$log"
(cd ws && exec "$TOOLS/attack_net" serve "$scratch/ready" "$log" stream gift /) 2> /dev/null &
one=$!
wait_until 10 test -s "$scratch/ready"
path=${PWD#/}/out/secret
like 'control: on the host the gift opens the file' "$(cd ws && "$TOOLS/attack_net" take gift "$path")" "*$secret*"
echo mine > ws/mine
(cd ws && "$TOOLS/attack_net" give gift mine) > /dev/null
check 'control: and a descriptor is handed over' wait_until 5 grep -q descriptor "$log"
: > "$log"
nacre run -w ws "./attack_net take gift $path; ./attack_net take $PWD/ws/gift etc/shadow; ./attack_net give gift mine; ./attack_net give gift /proc/self/ns/user"
prints 'inside nothing is had or given' $'done\ndone\ndone\ndone'
sleep 0.2
is 'and the host was not reached' "$(cat "$log")" ''
kill "$one"

done_testing

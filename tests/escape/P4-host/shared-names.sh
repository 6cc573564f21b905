#!/usr/bin/env bash
# P4: names that programs meet under, in /tmp, /run, /var/tmp and /dev/shm, mean other files inside:
# pipes, locks and sockets of the host are not there.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"

mkdir ws
cp "$TOOLS/attack_net" ws/
secret="secret-$(unique)"
log=$scratch/log
: > "$log"
places=()
for dir in /tmp /var/tmp /dev/shm /run /run/lock "/run/user/$(id -u)"; do
    if [ -d "$dir" ] && [ -w "$dir" ] && [ ! -L "$dir" ]; then places+=("$dir/nacre-test-$$"); fi
done
touch "$scratch/ready"
pids=()
trap 'rm -rf "${places[@]}" "$scratch"' EXIT
for place in "${places[@]}"; do
    mkdir -p "$place"
    chmod 777 "$place"
    mkfifo -m 666 "$place/pipe"
    echo "$secret" > "$place/file"
    chmod 666 "$place/file"
    "$TOOLS/attack_net" serve "$scratch/ready" "$log" stream "$place/socket" / 2> /dev/null &
    pids+=($!)
    (cat "$place/pipe" > "$scratch/from-pipe-$(cksum <<< "$place" | cut -d' ' -f1)") &
    pids+=($!)
done
check 'control: there are places to try' test "${#places[@]}" -gt 1
# shellcheck disable=SC2317 # called by wait_until
ready() { [ "$(wc -l < "$scratch/ready")" -ge "${#places[@]}" ]; }
wait_until 10 ready
like 'control: outside one answers' "$("$TOOLS/attack_net" send stream "${places[0]}/socket")" '*GOT*'
wait_until 5 test -s "$log"
: > "$log"
for place in "${places[@]}"; do
    nacre run -w ws "./attack_net send stream $place/socket; ./attack_net take $place/socket etc/shadow; cat $place/file; ls $place; [ -p $place/pipe ] && echo harm > $place/pipe; mkdir -p $place; echo harm > $place/file; echo tried"
    unlike "$place: nothing is reached" "$out$err" "*$secret*"
    unlike "$place: no socket answers" "$out" '*GOT*'
    is_file "$place: the file is what it was" "$place/file" "$secret"$'\n'
done
sleep 0.2
is 'nobody was reached by a socket' "$(cat "$log")" ''
is 'nor by a pipe' "$(cat "$scratch"/from-pipe-*)" ''
kill "${pids[@]}" 2> /dev/null

done_testing

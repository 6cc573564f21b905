#!/usr/bin/env bash
# P4: a socket of another user's, in a directory of a listed path that only that user may enter, is no way out when its owner
# opens the directory; and it does not keep runs from running.
# shellcheck disable=SC2016,SC2317 # texts for the inside are not expanded here; functions that are called by name

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"

if [ "$(id -u)" != 0 ]; then
    ok 'only root shows directories of others with their owners mapped'
    done_testing
fi
place=$(mktemp -d /var/tmp/nacre-closed.XXXXXX)
mkdir -p "$place/shown/of-another/deep" ws
cp "$TOOLS/attack_net" ws/
chmod 755 "$place" "$place/shown"
chown -R "$TEST_USER:" "$place/shown/of-another"
chmod 700 "$place/shown/of-another"
install -o "$TEST_USER" -d "$place/said"
runuser -u "$TEST_USER" -- bash -c 'cd "$1/shown/of-another/deep" && : > "$1/said/log" && exec "$2" serve "$1/said/ready" "$1/said/log" stream socket' \
    - "$place" "$TOOLS/attack_net" 2> /dev/null &
server=$!
leave() {
    kill "$server" 2> /dev/null
    rm -rf "$place" "$scratch"
}
trap leave EXIT
check 'control: it listens' wait_until 10 test -s "$place/said/ready"
like 'control: outside it answers' "$(cd "$place/shown/of-another/deep" && "$TOOLS/attack_net" send stream socket)" 'GOT*'

nacre run -w ws --read-path "$place/shown" 'echo ran'
prints 'a run is not refused for it' ran
# Its owner opens it while the run lasts.
nacre run -w ws --read-path "$place/shown" "for i in \$(seq 60); do ./attack_net send stream $place/shown/of-another/deep/socket; sleep 0.02; done; echo tried" &
run=$!
sleep 0.4
check 'control: the run lasts' kill -0 "$run"
runuser -u "$TEST_USER" -- chmod 755 "$place/shown/of-another"
wait "$run"
unlike 'opened meanwhile: it does not answer' "$(cat "$scratch/out")" '*GOT*'
like 'control: it tried' "$(cat "$scratch/out")" '*tried'
nacre run -w ws --read-path "$place/shown" "./attack_net send stream $place/shown/of-another/deep/socket; echo tried"
unlike 'opened before: nor does it' "$(cat "$scratch/out")" '*GOT*'

done_testing

#!/usr/bin/env bash
# P13, L3: without the launcher, or with one that is not ours to trust or dies at once, nothing
# runs.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"

mkdir ws bin
cp "$NACRE" bin/nacre
try() { # NAME
    NACRE=$PWD/bin/nacre nacre run -w ws 'touch ran; echo ran'
    is "$1: nothing ran" "$out$(ls ws)" ''
    is "$1: exit code" "$code" 125
    like "$1: one line says so" "$err" 'nacre: *'
    rm -f ws/ran
}
cp "$NACRE_LAUNCH" bin/nacre-launch
NACRE=$PWD/bin/nacre nacre run -w ws 'echo ran'
is 'control: with it, it runs' "$out" ran
echo > bin/nacre-launch
try 'an empty one'
head -c 4000 "$NACRE_LAUNCH" > bin/nacre-launch
chmod 755 bin/nacre-launch
try 'half of one'
for body in 'exit 0' 'exit 1' 'kill -KILL $$' 'kill -SEGV $$' 'exec cat < /dev/null' 'cat >&2' 'exec cat'; do
    printf '#!/bin/sh\n%s\n' "$body" > bin/nacre-launch
    chmod 755 bin/nacre-launch
    try "one that does: $body"
done
printf '#!/bin/sh\nexec sh -c "touch %q/ws/ran; echo ran"\n' "$PWD" > bin/nacre-launch
NACRE=$PWD/bin/nacre nacre run -w ws 'true'
unlike 'one that runs something else: it is not taken for a run' "$code" 0
rm -f ws/ran
cp "$NACRE_LAUNCH" bin/nacre-launch
chmod 644 bin/nacre-launch
try 'one that cannot be executed'
rm bin/nacre-launch
mkdir bin/nacre-launch
try 'a directory'

done_testing

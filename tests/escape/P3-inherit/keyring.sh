#!/usr/bin/env bash
# P3: the session keyring is a new one; keys of the caller cannot be found, read or changed.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"

cp "$TOOLS/attack" .
control=$("$TOOLS/attack" keyring-hold "$TOOLS/attack" keyring-read SERIAL 2>&1)
status=$?
if [ "$status" = 3 ]; then
    skip 'keys of the caller' "no keyrings here: $control"
else
    like 'control: outside the key can be read' "$control" '*GOT the key by its number*'
    "$TOOLS/attack" keyring-hold "$NACRE" run './attack keyring-read SERIAL' > "$scratch/out" 2>&1
    is 'inside it cannot, nor changed' "$(cat "$scratch/out")" 'done'
fi
nacre run 'cat /proc/keys /proc/key-users 2>/dev/null | wc -c'
is 'no key is listed' "$out" 0

done_testing

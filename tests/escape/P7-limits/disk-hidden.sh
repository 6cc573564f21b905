#!/usr/bin/env bash
# Runs alone.
# P7: files that have no name any more, or lie where nobody can look, count: deleted ones, those
# that are only mapped or only under way, directories that cannot be read, and deep ones.
# shellcheck disable=SC2016,SC2317 # texts for the inside are not expanded here; a function that is called by name

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"
# shellcheck source=tests/escape/bomb.sh
. "$(dirname "$0")/../bomb.sh"

mkdir ws
cp "$TOOLS/attack_bomb" ws/
free() { df --output=avail -m ws | tail -1; }
before=$(free)
for how in deleted only-mapped flight; do
    bomb -w ws --limit disk=20MB "./attack_bomb disk $how big 200"
    ended "$how"
done
for mode in 300 100 000; do
    bomb -w ws --limit disk=20MB "mkdir d; cd d; chmod $mode .; ../attack_bomb disk one f 200; ../attack_bomb disk one \$PWD/f 200"
    if [ "$mode" = 300 ]; then ended "a directory of mode $mode"; else unharmed "a directory of mode $mode"; fi
    chmod 700 ws/d
    rm -rf ws/d
done
bomb -w ws --limit disk=20MB "mkdir d; exec 8> d/f; chmod 000 d; head -c 200M /dev/zero >&8; sleep 1"
ended 'a directory that is closed behind an open file'
chmod 700 ws/d
rm -rf ws/d
bomb -w ws --limit disk=20MB 'p=$PWD; for i in {1..400}; do mkdir d; cd d; done; $p/attack_bomb disk one f 200'
ended 'four hundred levels down'
rm -rf ws/d
has_room() { [ "$(free)" -gt $((before - 300)) ]; }
check 'the room is free again' wait_until 60 has_room

done_testing

#!/usr/bin/env bash
# P2: a file that is given as standard input, output or error is not handed in: only its bytes are.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"

echo original > given
mkdir ws
chmod 666 given
for way in 'echo harm > /proc/self/fd/0' 'echo harm > /dev/stdin' 'echo harm >&0' 'exec 3<> /dev/fd/0; echo harm >&3' 'truncate -s 0 /proc/self/fd/0' 'chmod 000 /dev/stdin' 'cat > /dev/null; echo harm >> /proc/self/fd/0'; do
    nacre run -w ws "$way" < given
    is_file "$way" given $'original\n'
    nacre run -w ws "$way" <> given
    is_file "$way, open for both" given $'original\n'
done
is 'its mode is the same' "$(stat -c %a given)" 666
echo original > log
(cd ws && "$NACRE" run 'timeout 0.3 head -c 8 /proc/self/fd/1 > taken; truncate -s 0 /dev/stdout; chmod 000 /dev/stdout; echo x' 2> "$scratch/err") >> log < /dev/null
is_file 'nor can our output be cut' log $'original\nx\n'
is 'or read back' "$(cat ws/taken)" ''
nacre run -w ws 'readlink /proc/self/fd/0 /proc/self/fd/1 /proc/self/fd/2' < given
unlike 'not even the name is told' "$out" '*given*'
mkdir dir
nacre run -w ws 'ls /proc/self/fd/0/; ls /dev/fd/0/..' < dir
unlike 'a directory as standard input opens no way out' "$out" '*given*'

done_testing

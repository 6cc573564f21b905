#!/usr/bin/env bash
# P1, P6: a file handle, which is not bound to what is mounted, opens nothing: neither one that was
# made on the host nor a guess at the root of the file system.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"

mkdir ws out
cp "$TOOLS/attack_files" ws/
secret="secret-$(unique)"
echo "$secret" > out/secret
handle=$("$TOOLS/attack_files" handle out/secret)
like 'control: the host tells a handle' "$handle" '[0-9a-f][0-9a-f]*'
if [ "$(id -u)" = 0 ]; then
    like 'control: on the host it opens the file' "$("$TOOLS/attack_files" open-handle "$handle" ws)" "*$secret*"
fi
nacre run -w ws "./attack_files open-handle $handle .; ./attack_files open-handle $handle /usr; ./attack_files open-handle $handle /tmp"
prints 'inside it opens nothing' $'done\ndone\ndone'
path=${PWD#/}/out/secret
nacre run -w ws "./attack_files open-root . '$path'; ./attack_files open-root . etc/shadow; ./attack_files open-root /usr etc/shadow"
prints 'nor does a guess' $'done\ndone\ndone'
nacre run -w ws "unshare -Ur ./attack_files open-handle $handle . 2>/dev/null; unshare -Urm ./attack_files open-root . '$path' 2>/dev/null; true"
unlike 'nor in a namespace of its own' "$out" '*GOT*'

done_testing

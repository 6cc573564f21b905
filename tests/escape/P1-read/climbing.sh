#!/usr/bin/env bash
# P1: descriptors of directories, fchdir, names of descriptors and a root below lead no higher than
# the root of the inside.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"

mkdir ws out
cp "$TOOLS/attack_files" ws/
secret="secret-$(unique)"
echo "$secret" > out/secret
path=${PWD#/}/out/secret
like 'control: on the host they lead there' "$("$TOOLS/attack_files" climb ws "$path")" "*$secret*"
for from in . /usr /tmp /proc/self /dev '$HOME'; do
    nacre run -w ws "./attack_files climb $from '$path'"
    prints "from $from to the file" 'done'
    nacre run -w ws "./attack_files climb $from etc/shadow"
    prints "from $from to what root keeps" 'done'
done
nacre run -w ws 'mkdir -p a/b; for d in a a/b; do chroot $d true && echo GOT; unshare -Ur chroot $d true && echo GOT; done 2>/dev/null; echo done'
prints 'no root below can be entered' 'done'

done_testing

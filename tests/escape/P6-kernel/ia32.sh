#!/usr/bin/env bash
# P6: the 32-bit entry of the kernel is closed, from 64-bit code and from 32-bit code: nothing comes
# of a call, and no file gets a set-id bit by it.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"

cp "$TOOLS/attack_kernel" .
cp /bin/true target
chmod 755 target
control=$("$TOOLS/attack_kernel" ia32 control 2> /dev/null)
rm -f control
case $control in
*'from 32-bit code'*) ok 'control: outside it is open for both' ;;
*) skip 'control: outside it is open' 'this kernel has no 32-bit entry' ;;
esac
nacre run './attack_kernel ia32 target'
prints 'inside nothing comes of it' 'done'
nacre run './attack_kernel ia32 new'
prints 'nor with a name that is free' 'done'
is 'no file has a set-id bit' "$(find . -type f -perm /6000)" ''
is 'none was made' "$(ls)" $'attack_kernel\ntarget'

done_testing

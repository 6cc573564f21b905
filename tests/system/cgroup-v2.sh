#!/usr/bin/env bash
# Control groups of version 2, as ordinary distributions have them: in a guest with a kernel of
# Debian's, whatever this machine has. tests/guest/cgroup-v2 is what runs there, as root and as a user.
# Runs once.

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

guest=$STAGE/tests/guest kernel=$STAGE/build/guest
if ! command -v qemu-system-x86_64 > /dev/null; then
    skip 'control groups of version 2' 'there is no qemu-system-x86_64'
    done_testing
fi
if [ ! -e "$kernel/vmlinuz" ]; then
    skip 'control groups of version 2' "there is no kernel for a guest: $(tail -n 1 "$kernel/why" 2>&1)"
    done_testing
fi
if ! "$guest/image" "$kernel" "$STAGE" cgroup-v2 "$scratch/image" > "$scratch/why" 2>&1; then
    not_ok 'the image of a guest' "$(tail -n 5 "$scratch/why")"
    done_testing
fi

# The guest's checks and their plan are ours. A plan that does not come is a failure, as of any test.
"$guest/boot" 480 "$kernel/vmlinuz" "$scratch/image" > "$scratch/tap"
cat "$scratch/tap"
grep -q '^1\.\.[1-9]' "$scratch/tap" && ! grep -q '^not ok' "$scratch/tap"

#!/usr/bin/env bash
# A policy that was loaded is not believed for longer than its file says: on a file system that keeps whole seconds alone,
# a rule that was written in the second in which the last one was read holds, too.

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"

unset WARM
if [ "$(id -u)" != 0 ]; then
    ok 'a file system of its own is had by root'
    done_testing
fi
mkdir "$scratch/coarse"
if ! { truncate -s 32M "$scratch/image" && mkfs.ext4 -q -I 128 -F "$scratch/image" &&
    mount -o loop "$scratch/image" "$scratch/coarse"; } 2> /dev/null; then
    skip 'a file system that keeps whole seconds' 'none can be mounted here'
    done_testing
fi
trap 'umount "$scratch/coarse"; rm -rf "$scratch"' EXIT
export XDG_CONFIG_HOME=$scratch/coarse
config=$scratch/coarse/nacre/config.yaml
mkdir "$scratch/coarse/nacre"
echo mine > own
"$JUDGE" daemon --pool 1 > /dev/null 2>&1 &
wait_until 5 test -S "$XDG_STATE_HOME/nacre/daemon/socket"
"$JUDGE" run true
for _ in 1 2 3; do
    while [ "$(date +%-N)" -gt 100000000 ]; do sleep 0.01; done
    printf 'shell: {deny: [aaa]}\n' > "$config"
    sleep 0.2
    out=$("$JUDGE" run 'cat own' 2> /dev/null)
    printf 'shell: {deny: [cat]}\n' > "$config"
    is 'control: the first one lets it by' "$out" mine
    is 'the second one does not' "$("$JUDGE" run 'cat own' 2> /dev/null)" ''
    sleep 1
    is 'nor later' "$("$JUDGE" run 'cat own' 2> /dev/null)" ''
done
"$JUDGE" daemon --stop
done_testing

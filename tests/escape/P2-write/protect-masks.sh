#!/usr/bin/env bash
# P2, P6: what covers a hidden file, or makes a protected one read-only, cannot be taken off from
# inside.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"

cp "$TOOLS/attack" "$TOOLS/attack_files" .
secret="secret-$(unique)"
printf 'paths:\n  hide: [.env]\n  protect: [locked]\n' > "$scratch/policy"
echo "$secret" > .env
echo original > locked
if unshare -Urm true 2> /dev/null; then
    like 'control: who may unmount sees what is below' "$(unshare -Urm bash -c 'touch m; mount --bind m .env; umount .env; cat .env; rm -f m')" "*$secret*"
fi
nacre run --config "$scratch/policy" 'for f in .env locked . "$PWD" "$PWD/.env" "$PWD/locked"; do umount "$f"; umount -l "$f"; mount -o remount,rw "$f"; mount -o remount,rw,bind "$f"; mount --bind . /tmp; mount --move "$f" /tmp; done 2>/dev/null; cat .env /tmp/.env; echo harm >> locked; echo looked'
unlike 'by the programs: not in view' "$out$err" "*$secret*"
is_file 'by the programs: not written' locked $'original\n'
nacre run --config "$scratch/policy" 'for flags in -m -Um -Urm; do unshare $flags bash -c "umount -l .env; umount .env locked; mount -o remount,rw,bind locked; mkdir -p /tmp/w; mount --rbind . /tmp/w; mount --bind . /tmp/w; cat .env /tmp/w/.env; echo harm >> locked; echo harm >> /tmp/w/locked"; done 2>/dev/null; echo looked'
unlike 'in a namespace of its own: not in view' "$out$err" "*$secret*"
is_file 'in a namespace of its own: not written' locked $'original\n'
nacre run --config "$scratch/policy" './attack mounts; ./attack nested; cat .env; echo harm >> locked; rm -f locked; true'
unlike 'by the calls: not in view' "$out$err" "*$secret*"
is_file 'by the calls: not written' locked $'original\n'
# The mount table, which everybody may read, does not tell what lies below.
nacre run --config "$scratch/policy" 'cat /proc/self/mountinfo'
unlike 'the mount table does not tell' "$out" "*$secret*"

done_testing

#!/usr/bin/env bash
# P8, P9: what is kept of runs is out of their reach, wherever it lies.
# shellcheck disable=SC2016,SC2317 # texts for the inside; functions that are called by traps

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"
base=$PWD
mkdir ws store
export XDG_STATE_HOME=$base/store
trap 'chmod -R u+rwx "$base" 2> /dev/null; rm -rf "$scratch"' EXIT

echo 0 > ws/file
nacre run -w ws --json 'echo secret > file; echo other > new'
id=$(jq -r .correlation_id "$scratch/out")
journal() { sha256sum store/nacre/store/*/runs/"$id"/journal; }
before=$(journal)
cat > "$scratch/reach.sh" << S
for place in $base/store $base/store/nacre/store $base/store/nacre/runs/$id $base/store/nacre/store/*/runs/$id/journal \
    $base/ws/.nacre-store .nacre-store ../store /proc/self/cwd/../store; do
    cat \$place/* \$place 2> /dev/null
    ls \$place/runs \$place/nacre 2> /dev/null
    echo evil > \$place/evil; rm -rf \$place; mv \$place moved; chmod -R 777 \$place; ln -s /etc \$place/link
done 2> /dev/null
# What overlays show of where they lie.
cat /proc/self/mountinfo /proc/mounts | grep -c upperdir=$base
S
for options in '' "--read-path $base/store" "--read-path $base" "--write-path $base/store" "--write-path $base"; do
    # shellcheck disable=SC2086
    nacre run -w ws --read-path "$scratch/reach.sh" $options "bash $scratch/reach.sh"
    unlike "nothing of it is read ($options)" "$out" '*nacre journal*'
    unlike "nor listed ($options)" "$out" "*$id*"
    is "nor changed ($options)" "$(journal)" "$before"
    is "nor is anything left there ($options)" "$(find store/nacre -name 'evil*' 2> /dev/null | wc -l)" 0
done
rm -rf ws/moved ws/.nacre-store
nacre undo "$id"
exits 'and it can be undone' 0
is_file 'to what was before' ws/file $'0\n'
# A state directory in the workspace, and known by a link.
mkdir -p home/dir
ln -s "$base/home/dir" home/link
XDG_STATE_HOME=$base/home/link nacre run -w home --json 'echo 1 > file'
id=$(jq -r .correlation_id "$scratch/out")
XDG_STATE_HOME=$base/home/link nacre run -w home 'find . ; rm -rf dir/*; true'
unlike 'known by a link, it is not shown either' "$out" "*$id*"
check 'nor removed' test -e "home/dir/nacre/runs/$id"
XDG_STATE_HOME=$base/home/link nacre undo "$id"
exits 'and it can be undone' 0
check 'to what was before' test ! -e home/file
# A store that somebody else has made first, in the workspace, is not used.
if [ "$(id -u)" = 0 ]; then
    mkdir -p "$scratch/fs" && mount -t tmpfs none "$scratch/fs" && cd "$scratch/fs" || exit 1
    mkdir .nacre-store
    chown "$TEST_USER" .nacre-store
    nacre run -w . 'echo x > x'
    like "a store that is another's is refused" "$err" '*not ours alone*'
    check 'and nothing is written' test ! -e x
    rm -rf .nacre-store
    mkdir "$scratch/elsewhere"
    ln -s "$scratch/elsewhere" .nacre-store
    nacre run -w . 'echo x > x'
    is 'a link in its place is not followed' "$(ls -A "$scratch/elsewhere")" ''
    rm -rf .nacre-store
    # From one run to the next.
    nacre run -w . 'mkdir -p .nacre-store/runs; echo evil > .nacre-store/log; chmod 777 .nacre-store'
    nacre run -w . 'echo x > x'
    check 'one that is made inside is not used' test "$(cat .nacre-store/log 2> /dev/null)" != evil
    cd / || exit 1
    umount "$scratch/fs"
else
    ok 'a store in the workspace is tried as root'
fi

done_testing

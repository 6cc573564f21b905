#!/usr/bin/env bash
# Runs alone.
# A real power cut: the disk as it is at one moment, with all that was not written yet lost, is before or after.
# shellcheck disable=SC2016,SC2317 # texts for the shell inside; a function that a trap calls

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
tools=$STAGE/tests/tools
base=$PWD
mkdir disk
leave() {
    cd / || exit 1
    if mountpoint -q "$base/disk"; then umount -l "$base/disk"; fi
    rm -rf "$scratch"
}
trap leave EXIT
if [ "$(id -u)" != 0 ]; then
    ok 'a disk of its own is had by root'
    done_testing
fi
truncate -s 24M "$scratch/empty"
if ! strace -o /dev/null true 2> /dev/null || ! mkfs.ext4 -q -E lazy_itable_init=0,lazy_journal_init=0 "$scratch/empty" 2> /dev/null || ! mount -o loop "$scratch/empty" disk 2> /dev/null; then
    skip 'a disk that loses its power' 'no strace, no loop device or no ext4 here'
    done_testing
fi
export XDG_STATE_HOME=$base/disk/state
look() { /usr/bin/python3 "$tools/snapshot.py" disk/ws > "$scratch/$1"; }
text='for i in many/*; do echo more >> $i; done; rm -r gone; mkdir -p new/er; for i in 1 2 3 4 5; do echo $i > new/er/$i; done; echo 1 > one; mv one two
touch -d @1700000000 many/* many new/er/* new/er new two .'
work=(run -w disk/ws --limit processes=50 "$text")
mkdir -p disk/ws/{many,gone/deep}
for i in $(seq 12); do echo "$i" > "disk/ws/many/$i"; done
echo x > disk/ws/gone/deep/in
echo 0 > disk/ws/two
"$NACRE" run -w disk/ws 'echo 1 > first' # the store is no longer new
look before
umount disk
cp --sparse=always "$scratch/empty" "$scratch/start"
begin() { # OPTION: the disk as it was, and nothing is written by itself for a while
    cp --sparse=always "$scratch/start" "$scratch/image"
    mount -o "loop,commit=300,$1" "$scratch/image" disk
}
begin defaults
"$NACRE" "${work[@]}"
look after
umount disk

# Writes that the disk has finished, and those under way.
writes() { awk '{ print $5, $9 }' "/sys/dev/block/$(mountpoint -d disk)/stat"; }
# What the disk has at one moment: nothing was written to it while it was copied.
copy_disk() {
    local before after='' tries=50
    while [ $((tries--)) -gt 0 ]; do
        before=$(writes)
        cp --sparse=always "$scratch/image" "$scratch/cut"
        after=$(writes)
        if [ "$before" = "$after" ] && [ "${after#* }" = 0 ]; then return 0; fi
        sleep 0.05
    done
    return 1
}
broken='' places=0 reached=0 afters=0
cut() { # OPTION CALL K: false: the run came to its end before
    local pid='' tracer ended=0 still=0
    begin "$1"
    exec 8>&2 2> /dev/null # bash tells of those that are killed
    strace -o /dev/null -e "trace=$2" -e "inject=$2:signal=STOP:when=$3" "$NACRE" "${work[@]}" > "$scratch/said" 2>&1 &
    tracer=$!
    # Stopped for longer than a tracer stops it at each call.
    while [ "$still" -lt 4 ]; do
        pid=$(pgrep -P "$tracer")
        if [ -z "$pid" ] && ! kill -0 "$tracer"; then ended=1 && break; fi
        if grep -q '^State:.[Tt] ' "/proc/$pid/status"; then still=$((still + 1)); else still=0; fi
        sleep 0.01
    done
    copy_disk || broken+="$1 $2 $3: the disk does not come to rest"$'\n'
    kill -KILL "$tracer" "${pid:-$tracer}"
    wait "$tracer"
    exec 2>&8 8>&-
    wait_until 5 umount disk 2> /dev/null || umount -l disk
    mount -o loop "$scratch/cut" disk
    places=$((places + 1))
    "$NACRE" run -w disk/ws true > "$scratch/said" 2>&1 || broken+="$1 $2 $3: the next run: $(head -c 300 "$scratch/said")"$'\n'
    look now
    if cmp -s "$scratch/after" "$scratch/now"; then afters=$((afters + 1)); elif ! cmp -s "$scratch/before" "$scratch/now"; then
        broken+="$1 $2 $3: between: $(diff "$scratch/before" "$scratch/now" | head -6)"$'\n'
    elif [ "$ended" = 1 ]; then
        broken+="$1 $2 $3: it was told, and is lost"$'\n'
    fi
    umount disk
    reached=$((reached + 1 - ended))
    [ "$ended" = 0 ]
}
for option in defaults data=writeback; do
    for call in fsync fdatasync renameat2 renameat utimensat unlinkat; do
        for k in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18; do
            if [ "$SOAK" = 1 ] && [ "$k" -gt 2 ] && [ $((RANDOM % 6)) != 0 ]; then continue; fi
            cut "$option" "$call" "$k" || break
        done
    done
done
if [ -z "$broken" ]; then ok "a power cut: before or after ($places places, after $afters)"; else not_ok "a power cut ($places places)" "$broken"; fi
check 'control: it was cut on the way' test "$reached" -gt 8
check 'control: some were before, some after' test "$afters" -gt 0 -a "$afters" -lt "$places"

done_testing

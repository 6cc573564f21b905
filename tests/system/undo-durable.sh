#!/usr/bin/env bash
# What is synced, and in which order; and what a power cut leaves that takes with it all that was not.
# shellcheck disable=SC2016,SC2317 # texts for the shell inside; a function that a trap calls

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
tools=$STAGE/tests/tools
base=$PWD
mkdir -p ws/d store
export XDG_STATE_HOME=$base/store
trap 'chmod -R u+rwx "$base" 2> /dev/null; rm -rf "$scratch"' EXIT
if ! strace -o /dev/null true 2> /dev/null; then
    skip 'what is synced' 'no strace here'
    done_testing
fi
echo 0 > ws/d/f

# The syncs and the renames of a command that changed something, in order, by what they were done to.
traced() { # COMMAND…
    strace -y -o "$scratch/trace" -e trace=fsync,fdatasync,syncfs,sync,renameat2,renameat "$NACRE" "$@" > "$scratch/said" 2>&1
    sed -n -E -e 's,^(fsync|fdatasync)\([0-9]+<.*/layer0/(upper|slots)/?(.*)>\) .*,sync new \3,p' \
        -e 's,^(fsync|fdatasync)\([0-9]+<.*/journal\.new>\) .*,sync journal,p' \
        -e 's,^fsync\([0-9]+<.*/runs/[^/]*>\) .*,sync run,p' \
        -e 's,^fsync\([0-9]+<.*/runs>\) .*,sync runs,p' \
        -e 's,^fsync\([0-9]+<.*/ws/?(.*)>\) .*,sync root \1,p' \
        -e 's,^syncfs\([0-9]+<.*>\) .*,sync all,p' \
        -e 's,^renameat\(.*"journal.new".*"journal"\).*,journal,p' \
        -e 's,^renameat2\(.*/ws.*,step,p' "$scratch/trace" | uniq
}
is 'the first commit: all at once' "$(traced run -w ws 'echo 1 > d/f')" 'sync all
sync journal
journal
sync run
step
sync root d
sync journal
journal
sync run'
one='sync new d/f
sync runs
sync journal
journal
sync run
step
sync root d
sync journal
journal
sync run'
is 'one file: content, then the journal, then the step, then the root, then the journal' "$(traced run -w ws 'echo 2 > d/f')" "$one"
id=$(find store/nacre/runs -mindepth 1 -printf '%T@ %f\n' | sort -n | tail -1 | cut -d' ' -f2)
is 'an undo: the journal, the step, the root, the journal' "$(traced undo "$id")" "$(tail -n +3 <<< "$one")"
is 'nothing is changed: nothing is synced' "$(traced run -w ws 'cat d/f')" ''
is 'a new directory: what is in it, and its names' "$(traced run -w ws 'mkdir n; echo n > n/f')" 'sync new n
sync new n/f
sync runs
sync journal
journal
sync run
step
sync root 
sync journal
journal
sync run'
is 'many: two syncs for all' "$(traced run -w ws 'for i in 1 2 3 4 5 6 7 8 9; do mkdir m$i; for k in 1 2 3 4 5; do echo $k > m$i/$k; done; done' | grep -v journal)" \
    'sync all
sync run
step
sync root 
sync run'
is 'in many places: the same' "$(traced run -w ws 'for i in 1 2 3 4 5 6 7 8 9; do for k in 1 2 3 4; do mkdir -p m$i/d$k; done; done' > /dev/null
traced run -w ws 'for i in 1 2 3 4 5 6 7 8 9; do for k in 1 2 3 4; do echo $k > m$i/d$k/f; done; done' | grep -v journal)" \
    'sync all
sync run
step
sync all
sync run'
is 'a run that waits: it is whole on the disk' "$(traced run --stage -w ws 'echo 3 > d/f')" 'sync all
sync journal
journal
sync run'

# --- a power cut ------------------------------------------------------------------------------

look() { /usr/bin/python3 "$tools/snapshot.py" ws > "$scratch/$1"; }
broken=''
# Everything that is never synced is lost: marks, log, links, the note of the machine's start.
cut_power() {
    rm -rf store/nacre/runs store/nacre/store/*/pending store/nacre/store/*/log store/nacre/store/*/boot
}
runs() { find store/nacre/store/*/runs -mindepth 1 -maxdepth 1 -printf '%f\n'; }
forget() { chmod -R u+rwx store && rm -rf store && mkdir store; }
rm -rf ws
mkdir -p ws/{d,gone,closed}
echo 0 > ws/d/f
echo 0 > ws/gone/f
forget
text='echo 1 > d/f; rm -r gone; mkdir new; echo n > new/f; touch -d @1700000000 d/f new/f new d .'
places=0
for call in renameat2 renameat fsync fdatasync unlinkat; do
    for k in 1 2 3 4 5 6; do
        rm -rf ws
        mkdir -p ws/{d,gone,closed}
        echo 0 > ws/d/f
        echo 0 > ws/gone/f
        forget
        "$NACRE" run -w ws true
        look before
        exec 8>&2 2> /dev/null # bash tells of those that are killed
        strace -o /dev/null -e "trace=$call" -e "inject=$call:signal=KILL:when=$k" "$NACRE" run -w ws "$text" > /dev/null 2>&1
        exec 2>&8 8>&-
        places=$((places + 1))
        cut_power
        "$NACRE" run -w ws true > "$scratch/said" 2>&1 || broken+="$call $k: the next run: $(head -c 200 "$scratch/said")"$'\n'
        look now
        if cmp -s "$scratch/before" "$scratch/now"; then continue; fi
        id=$(runs | head -1)
        if [ "$(cat ws/d/f ws/new/f 2>&1)" != $'1\nn' ] || [ -e ws/gone ]; then
            broken+="$call $k: between: $(find ws | tr '\n' ' ')"$'\n'
        elif ! "$NACRE" undo "$id" > "$scratch/said" 2>&1; then
            broken+="$call $k: undo: $(head -c 200 "$scratch/said")"$'\n'
        else
            look now
            cmp -s "$scratch/before" "$scratch/now" || broken+="$call $k: undone, but not as before"$'\n'
        fi
        [ "$(grep -c "$id" store/nacre/store/*/log)" = 1 ] || broken+="$call $k: not in the log once"$'\n'
    done
done
if [ -z "$broken" ]; then ok "a power cut: before or after ($places places)"; else not_ok "a power cut ($places places)" "$broken"; fi

# One that rests, and one that never came to its journal.
forget
"$NACRE" run -w ws 'echo rest > d/rest'
id=$(runs)
cut_power
other=$(echo store/nacre/store/*/runs)/00000000-0000-4000-8000-00000000000
mkdir -p "${other}1/layer0/upper" "${other}2/layer1/upper"
"$NACRE" run -w ws true
check 'after a restart: what was done can be found again' "$NACRE" undo "$id"
check 'after a restart: a run that died is removed' test ! -e "${other}1"
check 'after a restart: the layer of a run in another workspace is not' test -d "${other}2"
before=$(stat -c %Y.%Z store/nacre/store/*/boot)
"$NACRE" run -w ws true
is 'it is looked for once' "$(stat -c %Y.%Z store/nacre/store/*/boot)" "$before"

done_testing

#!/usr/bin/env bash
# Killed at any step, or told that the disk is full or broken: everything is as before, or everything as after.
# Some of the places, chosen by chance; in `make soak` all of them.
# shellcheck disable=SC2016,SC2317 # texts for the shell inside; a function that a trap calls

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
tools=$STAGE/tests/tools
base=$PWD
me=$(id -u)
mkdir ws store
export XDG_STATE_HOME=$base/store
mounted=''
leave() {
    cd / || exit 1
    if [ -n "$mounted" ]; then umount -l "$mounted"; fi
    chmod -R u+rwx "$base" "$scratch" 2> /dev/null
    rm -rf "$scratch"
}
trap leave EXIT
if ! strace -o /dev/null true 2> /dev/null; then
    skip 'kills at every step' 'no strace here'
    done_testing
fi

look() { /usr/bin/python3 "$tools/snapshot.py" ws > "$scratch/$1"; }
pending() { find "$XDG_STATE_HOME"/nacre/store/*/pending -mindepth 1 2> /dev/null | wc -l; }
newest() { find "$XDG_STATE_HOME"/nacre/store/*/runs -mindepth 1 -maxdepth 1 -printf '%T@ %f\n' | sort -n | tail -1 | cut -d' ' -f2; }
forget() { # what is kept of runs
    chmod -R u+rwx store && rm -rf store && mkdir store
}

# A workspace with something of each kind, and work in it whose result has the same times always.
mkdir -p ws/{kept,gone/deep,closed,moved/in}
echo 0 > ws/mod
echo 0 > ws/del
echo x > ws/kept/in
echo x > ws/gone/deep/in
echo x > ws/closed/in
echo 'to be moved' > ws/moved/in/f
echo one > ws/link1
ln ws/link1 ws/kept/link2
ln -s mod ws/symlink
echo 0 > ws/becomes
/usr/bin/python3 -c 'import os; os.setxattr("ws/kept", "user.a", b"1"); os.setxattr("ws/mod", "user.a", b"1")'
chmod 555 ws/closed
text='echo 1 >> mod; rm del; rm -r gone; mv moved kept/arrived; echo 1 >> link1; ln -sfn del symlink
rm becomes; mkdir becomes; echo b > becomes/b; mkdir -p made/deep; echo n > made/deep/n; chmod 755 closed; echo c > closed/new; chmod 500 closed
/usr/bin/python3 -c "import os; os.setxattr(\"kept\", \"user.a\", b\"2\"); os.setxattr(\"kept\", \"user.b\", b\"2\")"
touch -h -d @1700000000 mod kept kept/arrived kept/arrived/in link1 symlink becomes becomes/b made made/deep made/deep/n closed closed/new .'
work=(run -w ws --limit processes=50 "$text")
look before
"$NACRE" "${work[@]}" > "$scratch/out" 2>&1
look after
id=$(newest)
check 'control: the work is done' test -d ws/made/deep
check 'control: and undone' "$NACRE" undo "$id"
look now
check 'control: to what was before' cmp "$scratch/before" "$scratch/now"

broken=''
# What a kill has left becomes before or after at the next use; which of them is in $state.
settle() { # WHERE
    local said
    if ! said=$("$NACRE" run -w ws true 2>&1); then broken+="$1: the next run: ${said:0:200}"$'\n'; fi
    look now
    if cmp -s "$scratch/before" "$scratch/now"; then state=before; elif cmp -s "$scratch/after" "$scratch/now"; then state=after; else
        state=between
        broken+="$1: between: $(diff "$scratch/after" "$scratch/now" | head -4)"$'\n'
    fi
    if [ "$(pending)" != 0 ]; then broken+="$1: something is pending"$'\n'; fi
}
turn() { # WHERE COMMAND WANTED: brings it to this state
    local said
    if ! said=$("$NACRE" "$2" "$id" 2>&1); then broken+="$1: then $2: ${said:0:300}"$'\n'; fi
    look now
    if ! cmp -s "$scratch/$3" "$scratch/now"; then
        broken+="$1: after $2 not as $3: $(diff "$scratch/$3" "$scratch/now" | head -4)"$'\n'
        # What is broken is not to break what follows.
        forget
        return 1
    fi
}
verdict() { # NAME COUNT
    if [ -z "$broken" ]; then ok "$1 ($2 places)"; else not_ok "$1 ($2 places)" "$(printf '%s' "$broken" | head -12)"; fi
    broken=''
}

# Runs a command with one call of it disturbed.
disturb() { # CALL HOW K COMMAND…
    exec 8>&2 2> /dev/null # bash tells of those that are killed
    strace -o "$scratch/trace" -e "trace=$1" -e "inject=$1:$2:when=$3" "$NACRE" "${@:4}" > "$scratch/said" 2>&1
    code=$?
    exec 2>&8 8>&-
}
calls='renameat2 renameat fdatasync fsync utimensat fchmodat chmod unlinkat mkdirat linkat lsetxattr lremovexattr symlink syncfs'
# Runs a command and remembers how often it makes each of these calls.
count_calls() { # COMMAND…
    strace -o "$scratch/calls" -e "trace=${calls// /,}" "$NACRE" "$@" > "$scratch/said" 2>&1
}
# Which of a call's places are tried.
places_of() { # CALL
    local count
    count=$(grep -c "^$1(" "$scratch/calls")
    if [ "$SOAK" -gt 1 ]; then seq "$count"; elif [ "$1" = renameat2 ]; then shuf -i "1-$count" -n 4; elif [ "$count" -gt 0 ]; then
        shuf -i "1-$count" -n 1
    fi
}

# --- killed at the commit ---------------------------------------------------------------------

fresh() { # the workspace as it was before, with the store of no run
    forget
    cp -a "$scratch/ws" ws.new
    chmod -R u+rwx ws
    rm -rf ws
    mv ws.new ws
}
cp -a ws "$scratch/ws"
count_calls "${work[@]}"
cp "$scratch/calls" "$scratch/run-calls"
id=$(newest)
turn 'undisturbed' undo before || fresh
for call in $calls; do
    places=0
    for k in $(places_of "$call"); do
        disturb "$call" signal=KILL "$k" "${work[@]}"
        places=$((places + 1))
        settle "$call $k"
        if [ "$state" = after ]; then
            id=$(newest)
            turn "$call $k" undo before || fresh
        elif [ "$state" = between ]; then
            fresh
        fi
    done
    if [ "$places" -gt 0 ]; then verdict "killed at $call of a run" "$places"; fi
done

# --- killed at undo and redo ------------------------------------------------------------------

fresh
"$NACRE" "${work[@]}" > /dev/null 2>&1
look after
id=$(newest)
for command in undo redo; do
    if [ "$command" = undo ]; then from=after to=before back=redo; else from=before to=after back=undo; fi
    look now
    if ! cmp -s "$scratch/$from" "$scratch/now"; then "$NACRE" "$back" "$id" > /dev/null; fi
    count_calls "$command" "$id"
    turn "$command, undisturbed" "$back" "$from"
    for call in $calls; do
        places=0
        for k in $(places_of "$call"); do
            disturb "$call" signal=KILL "$k" "$command" "$id"
            places=$((places + 1))
            settle "$command, $call $k"
            if [ "$state" = "$from" ]; then
                turn "$command, $call $k" "$command" "$to" || break
            fi
            turn "$command, $call $k" "$back" "$from" || break
        done
        if [ "$places" -gt 0 ]; then verdict "killed at $call of $command" "$places"; fi
    done
    cp "$scratch/calls" "$scratch/$command-calls"
done

# --- errors of the disk -----------------------------------------------------------------------

fresh
for what in renameat2:ENOSPC renameat2:EIO renameat:ENOSPC fdatasync:EIO fdatasync:ENOSPC fsync:EIO utimensat:EIO mkdirat:ENOSPC linkat:EMLINK \
    lsetxattr:ENOSPC syncfs:EIO; do
    call=${what%:*}
    places=0
    cp "$scratch/run-calls" "$scratch/calls"
    for k in $(places_of "$call"); do
        disturb "$call" "error=${what#*:}" "$k" "${work[@]}"
        places=$((places + 1))
        look now
        if cmp -s "$scratch/before" "$scratch/now"; then
            if [ "$code" = 0 ]; then broken+="$what $k: no failure is told"$'\n'; fi
            if ! grep -q '^nacre: ' "$scratch/said"; then broken+="$what $k: nothing is said: $(head -c 200 "$scratch/said")"$'\n'; fi
            # Either it is held, and can be committed; or it was thrown away, and that was said.
            if grep -q 'are held' "$scratch/said"; then
                id=$(newest)
                if turn "$what $k" commit after; then turn "$what $k" undo before || fresh; else fresh; fi
            fi
            settle "$what $k"
        else
            settle "$what $k"
            id=$(newest)
            if [ "$state" = after ]; then turn "$what $k" undo before || fresh; else fresh; fi
        fi
    done
    if [ "$places" -gt 0 ]; then verdict "$what in a run" "$places"; fi
done
fresh
"$NACRE" "${work[@]}" > /dev/null 2>&1
look after
id=$(newest)
for what in renameat2:ENOSPC renameat:ENOSPC fdatasync:EIO fsync:EIO utimensat:EIO; do
    call=${what%:*}
    places=0
    cp "$scratch/undo-calls" "$scratch/calls"
    for k in $(places_of "$call"); do
        disturb "$call" "error=${what#*:}" "$k" undo "$id"
        places=$((places + 1))
        if [ "$code" = 0 ]; then broken+="$what $k: no failure is told"$'\n'; fi
        settle "undo, $what $k"
        if [ "$state" = after ]; then turn "undo, $what $k" undo before || break; fi
        turn "undo, $what $k" redo after || break
    done
    if [ "$places" -gt 0 ]; then verdict "$what in an undo" "$places"; fi
done

# --- a full disk ------------------------------------------------------------------------------

if [ "$me" = 0 ] && mkdir fs && mount -t tmpfs -o size=8m none fs 2> /dev/null; then
    mounted=$base/fs
    mkdir fs/ws fs/store
    export XDG_STATE_HOME=$base/fs/store
    cd fs || exit 1
    echo 0 > ws/file
    head -c 100000 /dev/urandom > ws/data
    look before
    nacre run -w ws --json 'echo 1 > file; cp /dev/zero big; rm data; true'
    look now
    like 'full at the commit: said' "$(jq -r .error "$scratch/out")" '*No space left*'
    check 'full at the commit: as before' cmp "$scratch/before" "$scratch/now"
    nacre run -w ws 'true'
    exits 'full: the next use' 0
    if [ "$(df --output=avail . | tail -1)" -lt 4000 ]; then
        id=$(newest)
        check 'full: what is held is thrown away' "$NACRE" discard "$id"
    fi
    check 'full: there is room again' test "$(df --output=avail . | tail -1)" -gt 4000
    look now
    check 'full: still as before' cmp "$scratch/before" "$scratch/now"
    nacre run -w ws --json 'cp /dev/zero big; rm big; echo 1 > file; rm data'
    is 'full during the run alone: it goes on' "$(jq -r .status "$scratch/out")" ok
    id=$(jq -r .correlation_id "$scratch/out")
    look after
    cp /dev/zero filler 2> /dev/null
    nacre undo "$id"
    look now
    if [ "$code" = 0 ]; then
        check 'full at the undo: it is done' cmp "$scratch/before" "$scratch/now"
        check 'full at the undo: redone' "$NACRE" redo "$id"
    else
        like 'full at the undo: said' "$err" '*No space left*'
        check 'full at the undo: nothing is done' cmp "$scratch/after" "$scratch/now"
    fi
    nacre run -w ws 'echo 2 > file'
    look now
    if [ "$code" = 0 ]; then ok 'full at the start: it fits'; else
        like 'full at the start: said' "$err" '*No space left*'
        check 'full at the start: nothing is done' cmp "$scratch/after" "$scratch/now"
    fi
    rm filler
    nacre undo --with-later "$id"
    exits 'room again: undone' 0
    look now
    check 'room again: as before' cmp "$scratch/before" "$scratch/now"
    is 'nothing is pending' "$(pending)" 0
    # What nobody needs any more makes room.
    aside=$(echo store/nacre/store/*)/aside
    mkdir -p "$aside/x-work0/work"
    cp /dev/zero "$aside/x-work0/work/big" 2> /dev/null
    nacre run -w ws 'echo 3 > file'
    exits 'full of what lies aside: it is removed' 0
    is_file 'and the run is done' ws/file $'3\n'
    check 'there is room again' test ! -e "$aside/x-work0"
    cd "$base" || exit 1
else
    ok 'a full disk is tried as root'
fi

# --- what lies aside ---------------------------------------------------------------------------

forget
cd "$base" || exit 1
export XDG_STATE_HOME=$base/store
"$NACRE" run -w ws 'echo a > kept-aside'
id=$(newest)
aside=$(echo store/nacre/store/*)/aside
# Put there while a run waits for its command, behind its tidying up, and more than all that is kept may be.
"$NACRE" run -w ws 'sleep 1; echo b > kept-later' &
sleep 0.5
mkdir -p "$aside/x-work0/work"
truncate -s 6G "$aside/x-work0/work/big"
wait $!
check 'past the bound what lies aside goes' test ! -e "$aside/x-work0"
check 'before anything that can be undone' "$NACRE" undo "$id"
# A spare layer that was cut off while it was made ready.
has_spare() { "$NACRE" run -w ws 'sleep 0.1' && [ -d "$(echo store/nacre/store/*/spare)" ]; }
check 'control: there is a spare layer' wait_until 5 has_spare
check 'control: it has a part that can be missing' rmdir "$(echo store/nacre/store/*/spare/layer0/work)"
check 'a spare layer that is not whole is made whole' "$NACRE" run -w ws 'echo c > kept-last'
is 'nothing there is closed to its owner' "$(find store -type d ! -perm -700 2>&1)" ''

done_testing

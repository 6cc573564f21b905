#!/usr/bin/env bash
# Directories that their owner may not enter or write to: moved, looked into, and closed again, whatever happens.
# shellcheck disable=SC2016,SC2317 # texts for the shell inside; a function that a trap calls

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
base=$PWD
mkdir ws store
export XDG_STATE_HOME=$base/store
trap 'chmod -R u+rwx "$base" 2> /dev/null; rm -rf "$scratch"' EXIT
newest() { find store/nacre/runs -mindepth 1 -printf '%T@ %f\n' | sort -n | tail -1 | cut -d' ' -f2; }
# Names, modes, times and contents, also of what cannot be entered: opened for the look, and closed again.
look() {
    /usr/bin/python3 - << 'END'
import os, stat
def look(path):
    st = os.lstat(path)
    print(path, oct(st.st_mode), st.st_mtime_ns, end=" ")
    if not stat.S_ISDIR(st.st_mode):
        print(open(path).read().split())
        return
    print()
    if st.st_mode & 0o700 != 0o700:
        os.chmod(path, st.st_mode & 0o777 | 0o700)
    for name in sorted(os.listdir(path)):
        look(path + "/" + name)
    if st.st_mode & 0o700 != 0o700:
        os.chmod(path, st.st_mode & 0o777)
look("ws")
END
}
fresh() {
    chmod -R u+rwx ws store
    rm -rf ws store
    mkdir -p ws/{plain,read/in,shut/in,moved/deep,gone/deep} store
    for dir in plain read read/in shut shut/in moved moved/deep gone gone/deep; do echo "$dir" > "ws/$dir/f"; done
    find ws -exec touch -d @1600000000 {} +
    chmod 555 ws/read/in ws/read ws/moved/deep ws/moved ws/gone/deep ws/gone
}
# What cannot be moved inside (the kernel copies) is removed there with its modes changed first.
text='echo 1 >> plain/f; touch -d @1700000000 plain/f; chmod 000 plain; chmod 755 read; echo 1 >> read/f; touch -d @1700000000 read/f; chmod 555 read
chmod 111 shut/in; chmod 300 shut; echo n > shut/n; touch -d @1700000000 shut/n
mkdir -p new/er; echo n > new/f; echo n > new/er/f; touch -d @1700000000 new/f new/er/f new/er; chmod 000 new/er new; chmod 755 gone gone/deep; rm -r gone
mkdir other; cp -a moved other/; chmod 755 moved moved/deep; rm -r moved; chmod 555 other
touch -d @1700000000 . new other plain read shut; true'
fresh
look > "$scratch/before"
nacre run -w ws --limit processes=50 "$text"
exits 'a run that closes directories' 0
id=$(newest)
look > "$scratch/after"
is 'control: it is closed' "$(stat -c %a ws/plain ws/new ws/shut | tr '\n' ' ')" '0 0 300 '
check 'undone' "$NACRE" undo "$id"
look > "$scratch/now"
is 'to what was before' "$(diff "$scratch/before" "$scratch/now")" ''
check 'redone' "$NACRE" redo "$id"
look > "$scratch/now"
is 'to what was after' "$(diff "$scratch/after" "$scratch/now")" ''

# Somebody's own mode is not put back.
chmod 755 ws/new
refute 'a mode that somebody changed meanwhile, and the run, too' env bash -c 'chmod 711 ws/plain; "$0" undo "$1"' "$NACRE" "$id"
is 'is left' "$(stat -c %a ws/plain ws/new | tr '\n' ' ')" '711 755 '
chmod 0 ws/plain
check 'one that only somebody else changed is no conflict' "$NACRE" undo "$id"
check 'redone' "$NACRE" redo "$id"
is 'and stays as it was' "$(stat -c %a ws/plain ws/new | tr '\n' ' ')" '0 755 '

# A conflict closes what was opened.
fresh
"$NACRE" run -w ws --limit processes=50 "$text" > /dev/null 2>&1
id=$(newest)
chmod 700 ws/plain && echo mine >> ws/plain/f && chmod 000 ws/plain
nacre undo "$id"
like 'a conflict in one that was closed' "$err$out" '*plain/f*changed*'
is 'closes it again' "$(stat -c %a ws/plain ws/new ws/shut | tr '\n' ' ')" '0 0 300 '

if ! strace -o /dev/null true 2> /dev/null; then
    skip 'kills' 'no strace here'
    done_testing
fi
# --- killed while something is open -----------------------------------------------------------

broken='' places=0
try() { # WHERE CALL K COMMAND…
    exec 8>&2 2> /dev/null # bash tells of those that are killed
    strace -o "$scratch/trace" -e "trace=$2" -e "inject=$2:signal=KILL:when=$3" "$NACRE" "${@:4}" > /dev/null 2>&1
    code=$?
    exec 2>&8 8>&-
    [ "$code" = 137 ] || return 1
    places=$((places + 1))
    "$NACRE" run -w ws true > "$scratch/said" 2>&1 || broken+="$1, $2 $3: the next run: $(head -c 200 "$scratch/said")"$'\n'
    look > "$scratch/now"
    if cmp -s "$scratch/before" "$scratch/now"; then state=before; elif cmp -s "$scratch/after" "$scratch/now"; then state=after; else
        state=between
        broken+="$1, $2 $3: between: $(diff "$scratch/after" "$scratch/now" | head -5)"$'\n'
    fi
}
fresh
look > "$scratch/before"
"$NACRE" run -w ws --limit processes=50 "$text" > /dev/null 2>&1
id=$(newest)
look > "$scratch/after"
step=$((SOAK > 1 ? 1 : 3))
for call in chmod renameat2; do
    for k in $(seq 1 "$step" 60); do
        try undo "$call" "$k" undo "$id" || break
        if [ "$state" = before ]; then "$NACRE" redo "$id" > /dev/null 2>&1; fi
        if [ "$state" = between ]; then break; fi
    done
    "$NACRE" undo "$id" > /dev/null 2>&1
    for k in $(seq 1 "$step" 60); do
        try redo "$call" "$k" redo "$id" || break
        if [ "$state" = after ]; then "$NACRE" undo "$id" > /dev/null 2>&1; fi
        if [ "$state" = between ]; then break; fi
    done
    "$NACRE" redo "$id" > /dev/null 2>&1
done
for call in chmod renameat2; do
    for k in $(seq 1 "$step" 60); do
        fresh
        try run "$call" "$k" run -w ws --limit processes=50 "$text" || break
    done
done
if [ -z "$broken" ]; then ok "killed: before or after, with all modes ($places places)"; else not_ok "killed ($places places)" "$broken"; fi
check 'control: it was killed' test "$places" -gt 10

done_testing

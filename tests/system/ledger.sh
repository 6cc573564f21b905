# shellcheck shell=bash disable=SC2317 # functions that are called by their names
# The ledger under kill -9, a full disk and a failing sync; and the program that checks it.
. "${STAGE:?}/tests/lib.sh"
ledger=$TOOLS/ledger
verify=$STAGE/usr/local/bin/nacre-verify

# Records as "INDEX TEXT".
list() {
    "$ledger" list "$1" | python3 -c 'import sys
for line in sys.stdin:
    index, _, text = line.partition(" ")
    print(index, bytes.fromhex(text.strip()).decode())'
}

# --- writers that are killed ---

# Eight at once, in segments that are small, killed at a random moment, again and again.
killed_series() { # DIR
    local dir=$1 round writer pid pids bad_rounds=0 failed_before=$test_failed kept
    "$ledger" append "$dir" 1 first > "$scratch/acks"
    for ((round = 0; round < 30; round++)); do
        pids=()
        # A writer that is killed before it starts has acknowledged nothing.
        rm -f "$scratch"/ack.*
        for writer in 1 2 3 4 5 6 7 8; do
            "$ledger" append "$dir" 100000 "r$round.w$writer" 30000 > "$scratch/ack.$writer" 2>> "$scratch/notices" &
            pids+=($!)
        done
        sleep "0.0$((RANDOM % 90 + 10))"
        for pid in "${pids[@]}"; do kill -KILL "$pid"; done
        wait
        cat "$scratch"/ack.* >> "$scratch/acks"
        if ! "$verify" "$dir" > "$scratch/verified"; then
            bad_rounds=$((bad_rounds + 1))
            cat "$scratch/verified"
        fi
    done 2> /dev/null
    is 'killed 30 times: it verifies each time' "$bad_rounds" 0
    # A listing that broke off would look like entries that are lost.
    check 'all of it can be listed' "$ledger" list "$dir"
    list "$dir" | sort > "$scratch/listed"
    check "some records were acknowledged" test "$(wc -l < "$scratch/acks")" -gt 100
    is 'every acknowledged entry is there' "$(sort "$scratch/acks" | comm -23 - "$scratch/listed" | head -5)" ''
    is 'none is there twice' "$(cut -d' ' -f2 "$scratch/listed" | sort | uniq -d | head -5)" ''
    is 'there is no gap' "$(cut -d' ' -f1 "$scratch/listed" | sort -n | tail -1)" "$(($(wc -l < "$scratch/listed") - 1))"
    check 'a writer after all that goes on' "$ledger" append "$dir" 1 after
    check 'and it verifies' "$verify" --signatures "$dir"
    if [ "$test_failed" -gt "$failed_before" ]; then
        kept=$(mktemp -d /tmp/nacre-ledger-failed.XXXXXX)
        cp -a "$dir" "$scratch/acks" "$scratch/listed" "$scratch/notices" "$kept"
        echo "# kept in $kept"
    fi
}
for ((series = 0; series < SOAK; series++)); do killed_series "$scratch/killed.$series"; done

# A kill at each system call that writes, from an empty directory on and over two segments.
if command -v strace > /dev/null; then
    kills=0 wrong=''
    for call in mkdirat linkat renameat openat pwrite64 fdatasync fsync ftruncate fallocate fcntl; do
        for n in 1 2 3 4 5 6 7 8; do
            dir=$scratch/at
            rm -rf "$dir"
            strace -f -o /dev/null -e trace="$call" -e inject="$call:signal=KILL:when=$n" \
                "$ledger" append "$dir" 6 killed 800 > "$scratch/ack" 2> /dev/null && continue
            kills=$((kills + 1))
            if ! "$ledger" append "$dir" 1 after 800 > "$scratch/after" 2> "$scratch/why" || ! "$verify" "$dir" > "$scratch/why" ||
                [ -n "$(list "$dir" | sort | comm -13 - <(sort "$scratch/ack" "$scratch/after"))" ]; then
                wrong+=" $call:$n: $(tail -3 "$scratch/why")"
            fi
        done
    done 2> /dev/null
    is "killed at $kills system calls: the next writer goes on" "$wrong" ''
    check 'that were many' test "$kills" -gt 30

    # --- a failing sync ---

    dir=$scratch/unsynced
    "$ledger" append "$dir" 3 before > "$scratch/acks"
    strace -f -o /dev/null -e trace=fdatasync -e inject=fdatasync:error=EIO:when=3+ \
        "$ledger" append "$dir" 9 during > "$scratch/more" 2> "$scratch/err"
    is 'a failing sync ends the writer' "$?" 1
    like 'with the reason' "$(cat "$scratch/err")" '*cannot make the ledger durable: Input/output error*'
    is 'what was synced was acknowledged' "$(wc -l < "$scratch/more")" 2
    check 'the next writer writes it all again' "$ledger" append "$dir" 1 after
    check 'and it verifies' "$verify" "$dir"
    is 'nothing acknowledged is lost' "$(list "$dir" | sort | comm -13 - <(sort "$scratch/acks" "$scratch/more"))" ''
else
    skip 'kills at system calls, failing syncs' 'no strace'
fi

# --- a full disk ---

full() {
    mount -t tmpfs -o size=600k none "$scratch/disk" || exit 77
    export dir=$scratch/disk/ledger
    "$ledger" append "$dir" 5 before > "$scratch/acks" || exit 1
    head -c 250k /dev/zero > "$scratch/disk/filler"
    "$ledger" append "$dir" 100000 full > "$scratch/full" 2> "$scratch/err" && exit 2
    cat "$scratch/full" >> "$scratch/acks"
    grep -q 'No space left on device' "$scratch/err" || exit 3
    "$verify" "$dir" > "$scratch/verified" || exit 4
    rm "$scratch/disk/filler"
    "$ledger" append "$dir" 1 after >> "$scratch/acks" || exit 5
    "$verify" "$dir" > "$scratch/verified" || exit 6
    [ -z "$("$ledger" list "$dir" | cut -d' ' -f1 | sort | comm -13 - <(cut -d' ' -f1 "$scratch/acks" | sort))" ] || exit 7
    [ "$(wc -l < "$scratch/acks")" -gt 100 ] || exit 8
}
export -f full
export ledger verify scratch
mkdir -p "$scratch/disk"
flags=(-m)
if [ "$(id -u)" -ne 0 ]; then flags=(-Urm); fi
unshare "${flags[@]}" bash -c full 2> "$scratch/why"
case $? in
0) ok 'a full disk: an error, nothing acknowledged is lost, and it goes on when there is space' ;;
77) skip 'a full disk' 'cannot mount a tmpfs' ;;
*) not_ok 'a full disk' "step $?" "$(cat "$scratch/why" "$scratch/err" "$scratch/verified" 2>&1 | tail -5)" ;;
esac

# --- the program ---

dir=$scratch/program
"$ledger" append "$dir" 20 entry > /dev/null
"$ledger" checkpoint "$dir" > "$scratch/kept"
cp "$dir/key.pub" "$scratch/kept.pub"
"$ledger" append "$dir" 5 more > /dev/null
"$ledger" prove "$dir" 7 > "$scratch/proof"
printf 'entry-7' > "$scratch/entry"
like 'good' "$("$verify" --key "$scratch/kept.pub" --checkpoint "$scratch/kept" "$dir")" 'good: 25 entries of nacre/ledger/*'
is 'as JSON' "$("$verify" --json --key "$(cat "$scratch/kept.pub")" "$dir" | jq -r '"\(.good) \(.size) \(.first) \(.damage_count)"')" 'true 25 0 0'
check 'a proof, with the key alone' "$verify" --key "$scratch/kept.pub" --proof "$scratch/proof" --entry "$scratch/entry"
printf 'entry-8' > "$scratch/other"
refute 'not for another entry' "$verify" --key "$scratch/kept.pub" --proof "$scratch/proof" --entry "$scratch/other"
code() { "$verify" "$@" > /dev/null 2>&1; echo $?; }
is 'exit 2 for a wrong call' "$(code) $(code --nonsense "$dir") $(code --proof "$scratch/proof" "$dir") $(code --since "$dir")" '2 2 2 2'
is 'exit 2 for what is no checkpoint' "$(code --checkpoint "$scratch/entry" "$dir")" 2
is 'exit 1 where there is no ledger' "$(code "$scratch/nowhere")" 1
segment=$dir/segment/00000000000000000000
cp "$segment" "$scratch/segment"
printf 'X' | dd of="$segment" bs=1 seek=700 conv=notrunc 2> /dev/null
"$verify" --json "$dir" > "$scratch/json"
is 'exit 1 for damage' "$?" 1
like 'located' "$(jq -c '.damages[0] | [.index, .segment, .offset, .what]' "$scratch/json")" '\[?,0,*,"*\]'
cp "$scratch/segment" "$segment"

# An old copy, put back.
cp -r "$dir" "$scratch/copy"
"$ledger" append "$dir" 3 secret > /dev/null
"$ledger" checkpoint "$dir" >> "$scratch/kept"
check 'all kept checkpoints fit' "$verify" --key "$scratch/kept.pub" --checkpoint "$scratch/kept" "$dir"
check 'only from the last on' "$verify" --since --checkpoint "$scratch/kept" "$dir"
check 'an old copy is good by itself' "$verify" "$scratch/copy"
like 'and not by a checkpoint that was kept' "$("$verify" --checkpoint "$scratch/kept" "$scratch/copy")" 'damaged: cut: 25 entries are signed here, 28 in *'

# Sent on.
dir=$scratch/sent
check 'checkpoints go to a file' "$ledger" hooks "$dir" 3 0 file "$scratch/sent.txt"
check 'to a command' "$ledger" hooks "$dir" 2 0 command "cat >> '$scratch/sent.txt'"
check 'and fit' "$verify" --checkpoint "$scratch/sent.txt" "$dir"
is 'one for each batch' "$(grep -c '^— ' "$scratch/sent.txt")" 5
"$ledger" hooks "$dir" 2 0 command 'exit 7' > "$scratch/acks" 2> "$scratch/err"
is 'a failing hook loses nothing' "$(wc -l < "$scratch/acks") $(grep -c 'notice 2' "$scratch/err")" '2 2'
python3 - "$scratch/socket" > "$scratch/syslog" << 'END' &
import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1])
s.settimeout(20)
print(s.recv(2000).decode())
END
wait_until 10 test -S "$scratch/socket"
check 'to syslog' "$ledger" hooks "$dir" 1 0 syslog "$scratch/socket"
wait
like 'as one line' "$(cat "$scratch/syslog")" '<13>nacre*: ledger checkpoint	nacre/ledger/*	8	*'
done_testing

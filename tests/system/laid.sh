#!/usr/bin/env bash
# A sandbox that waits with the workspace already laid shows it as it is when the run begins, hides and protects what it has to
# then, and leaves nothing behind.
# shellcheck disable=SC2016,SC2317 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

unset WARM
figure() { "$NACRE" daemon --status --json | jq -r ".$1"; }
laid() { [ "$(figure laid)" -ge 1 ]; }
begin() {
    "$NACRE" daemon --pool 2 > "$scratch/daemon-out" 2>&1 &
    daemon=$!
    wait_until 5 test -S "$XDG_STATE_HOME/nacre/daemon/socket"
}
over() { ! kill -0 "$daemon" 2> /dev/null; }
# Runs when one waits.
run() { # TEXT [OPTIONS…]
    wait_until 10 laid
    nacre run -w ws "${@:2}" "$1"
}
left() { find "$XDG_STATE_HOME"/nacre/store/*/"$1" -mindepth 1 2> /dev/null; }

mkdir -p ws/dir/deep
echo old > ws/file
echo old > ws/dir/deep/file
begin
nacre run -w ws 'cat file'
prints 'the first run lays it for itself' old
nacre run -w ws 'cat file'
prints 'so does the second, or it is laid' old
check 'then one waits with the workspace' wait_until 10 laid
used=$(figure used)
run 'cat file'
prints 'which is used' old
is 'and counts as such' "$(figure used)" "$((used + 1))"


# Each run uses one, and each that is used is replaced: none is thrown away.
built=$(figure built)
laid_used=$(figure laid_used)
for _ in 1 2 3 4 5; do run true; done
is 'each run has used one' "$(figure laid_used)" "$((laid_used + 5))"
wait_until 10 laid
like 'no more are built than are used' "$(($(figure built) - built))" '[45678]'

# --- what changed since it was laid ---

wait_until 10 laid
echo new > ws/file
run 'cat file'
prints 'a file was written' new
wait_until 10 laid
echo newer > ws/other && mv ws/other ws/file
run 'cat file'
prints 'a file was replaced' newer
wait_until 10 laid
rm ws/file && mkdir ws/file && echo in > ws/file/name
run 'cat file/name; ls'
prints 'a directory in its place' $'in\ndir\nfile'
wait_until 10 laid
mv ws/dir ws/moved && mkdir -p ws/dir/deep && echo another > ws/dir/deep/file
run 'cat dir/deep/file moved/deep/file'
prints 'a directory was replaced' $'another\nold'
wait_until 10 laid
rm -r ws/moved
run 'ls'
prints 'a directory is gone' $'dir\nfile'
wait_until 10 laid
touch -d '2020-01-02 03:04:05 UTC' ws
run 'stat -c %Y .'
prints 'the time of the workspace itself' 1577934245
wait_until 10 laid
chmod 700 ws
run 'stat -c %a .'
prints 'its mode' 700
run 'echo mine > made; ls'
prints 'what a run writes' $'dir\nfile\nmade'
is 'is real' "$(cat ws/made)" mine
run 'cat made; rm made'
prints 'and there for the next' mine
refute 'and gone' test -e ws/made
wait_until 10 laid
mkdir ws/later && mv ws ws-away && mkdir ws && echo another > ws/file
run 'ls; cat file'
prints 'another directory in the place of the workspace' $'file\nanother'
rm -r ws && mv ws-away ws

# An attribute that is gone does not come back with the layer.
if python3 -c 'import os; os.setxattr("ws", "user.note", b"x")' 2> /dev/null; then
    run true
    run true
    wait_until 10 laid
    python3 -c 'import os; os.removexattr("ws", "user.note")'
    nacre run -w ws --json true
    is 'an attribute of the workspace is gone' "$(jq -c .changes.touched <<< "$out")" '[]'
    is 'and stays so' "$(python3 -c 'import os; print(os.listxattr("ws"))')" '[]'
else
    skip 'an attribute of the workspace is gone' 'no attributes here'
fi

# --- what is covered ---

"$NACRE" daemon --stop
wait_until 10 over
begin
mkdir ws/conf
printf 'paths: {hide: [.env, conf/secret], protect: [locked, conf/kept]}\n' > "$scratch/config.yaml"
covered() { run "$1" --config "$scratch/config.yaml"; }
nacre run -w ws --config "$scratch/config.yaml" 'ls -A'
covered 'ls -A'
wait_until 10 laid
echo hidden > ws/.env
covered 'cat .env'
is 'a file to be hidden has come: not read' "$out" ''
wait_until 10 laid
mkdir ws/conf.new && echo hidden > ws/conf.new/secret && mv ws/conf ws/conf.old && mv ws/conf.new ws/conf
covered 'cat conf/secret'
is 'with another directory above it' "$out" ''
wait_until 10 laid
echo two > ws/secret && mv ws/secret ws/conf/secret
covered 'cat conf/secret'
is 'and replaced' "$out" ''
wait_until 10 laid
echo mine > ws/locked
covered 'echo theirs > locked'
is 'a file to be protected has come: not written' "$(cat ws/locked)" mine
wait_until 10 laid
echo mine too > ws/next && mv ws/next ws/locked
covered 'cat locked; echo theirs > locked'
is 'nor when it was replaced' "$(cat ws/locked)" 'mine too'
is 'and read as it is' "$out" 'mine too'
wait_until 10 laid
chmod 500 ws/conf
covered 'echo x > conf/new'
if [ "$(id -u)" = 0 ]; then owner=$(stat -c %u ws); else owner=$(id -u); fi
is "a directory above it is closed (for $owner)" "$(ls ws/conf)" secret
chmod 755 ws/conf
git -C ws init -q
covered 'git config --get user.later'
covered 'git config --get user.later'
wait_until 10 laid
git -C ws config user.later one
covered 'git config --get user.later'
prints "git's settings as they are" one
wait_until 10 laid
git -C ws config user.later two
covered 'git config --get user.later; git config user.later inside'
is 'and again' "$out" two
is 'which nobody inside writes' "$(git -C ws config --get user.later)" two

# What is hidden elsewhere, in a path that is listed.
mkdir "$scratch/data"
chmod 755 "$scratch" "$scratch/data"
echo plain > "$scratch/data/plain"
printf 'paths: {read: [%s], hide: [%s]}\n' "$scratch/data" "$scratch/data/secret" > "$scratch/config.yaml"
"$NACRE" daemon --stop
wait_until 10 over
begin
nacre run -w ws --config "$scratch/config.yaml" true
covered true
wait_until 10 laid
echo hidden > "$scratch/data/secret"
covered "grep -r . $scratch/data"
is 'a file to be hidden has come elsewhere: not read' "$out" "$scratch/data/plain:plain"
covered "grep -r . $scratch/data"
wait_until 10 laid
echo hidden too > "$scratch/data/next" && mv "$scratch/data/next" "$scratch/data/secret"
covered "grep -r . $scratch/data"
is 'nor when it was replaced' "$out" "$scratch/data/plain:plain"

# --- many at once, some of which do not run ---

writes() { for _ in $(seq 40); do "$NACRE" run -w ws 'set -e; echo $RANDOM > f' > /dev/null 2>&1; done; }
refused() { for _ in $(seq 150); do "$NACRE" run -w ws 'if' > /dev/null 2>&1; done; }
pids=()
for loop in writes refused refused refused; do
    "$loop" &
    pids+=($!)
done
wait "${pids[@]}"
check 'the daemon lives' kill -0 "$daemon"
run 'cat plain 2> /dev/null; echo still'
prints 'and runs' still

# --- a text that does not run has none ---

wait_until 10 laid
is 'a refused text takes none' "$("$NACRE" run -w ws 'if' 2> /dev/null; figure used)" "$(figure used)"

# --- what is left ---

"$NACRE" daemon --stop
check 'the daemon ends' wait_until 10 over
nacre run -w ws 'true'
is 'nothing that was laid is left' "$(left ahead)" ''
begin
nacre run -w ws 'true'
nacre run -w ws 'true'
wait_until 10 laid
kill -KILL "$daemon"
wait "$daemon" 2> /dev/null
nacre run -w ws 'true'
nacre run -w ws 'true'
is 'nor when the daemon was killed' "$(left ahead)" ''
is 'and no mark' "$(left pending)" ''
done_testing

#!/usr/bin/env bash
# Each run is a transaction: what it changed is listed, taken back, put back, held; nobody else's work is lost.
# shellcheck disable=SC2016,SC2317 # texts for the shell inside; functions that checks call

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
tools=$STAGE/tests/tools
base=$PWD
mkdir "$base/store"
export XDG_STATE_HOME=$base/store
export GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
me=$(id -u)
# What the kernel keeps in a layer, and what tests make, lets nobody in.
mounted=''
leave() {
    cd / || exit 1
    if [ -n "$mounted" ]; then umount -l "$mounted"; fi
    chmod -R u+rwx "$base" 2> /dev/null
    rm -rf "$scratch"
}
trap leave EXIT

workspace() { # NAME: an empty one, in which we then are
    mkdir "$base/$1" || exit 1
    cd "$base/$1" || exit 1
}
look() { /usr/bin/python3 "$tools/snapshot.py" "${2:-.}" > "$scratch/$1"; }
same() { # NAME A B
    if cmp -s "$scratch/$2" "$scratch/$3"; then ok "$1"; else
        not_ok "$1" "$(diff "$scratch/$2" "$scratch/$3" | head -6)"
    fi
}
# Runs a text: id in $id, status in $status, the whole result in $scratch/result.
change() { # TEXT [OPTION…]
    "$NACRE" run --json -w . --limit processes=50 "${@:2}" "$1" > "$scratch/result" 2> "$scratch/err"
    id=$(jq -r .correlation_id "$scratch/result")
    status=$(jq -r .status "$scratch/result")
}
result() { jq -c "$1" "$scratch/result"; }
# A socket in the place of a file is not kept, and the file had to go for it.
in_place() { # NAME
    echo x > taken
    look before
    change "rm taken; /usr/bin/python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"taken\")'"
    is "$1: the file is deleted" "$status $(result .changes.deleted)" 'ok ["taken"]'
    check "$1: nothing is in its place" test ! -e taken
    check "$1: undone" "$NACRE" undo "$id"
    look now
    same "$1: as before" before now
}
# A run, back and forth again, by an independent walk.
round() { # NAME TEXT [OPTION…]
    look before
    change "${@:2}"
    is "$1: the run" "$status" ok
    look after
    check "$1: undone" "$NACRE" undo "$id"
    look now
    same "$1: as before" before now
    check "$1: redone" "$NACRE" redo "$id"
    look now
    same "$1: as after" after now
    check "$1: undone again" "$NACRE" undo "$id"
    look now
    same "$1: as before again" before now
}
runs_kept() { find "$XDG_STATE_HOME"/nacre/store/*/runs -mindepth 1 -maxdepth 1 2> /dev/null | wc -l; }
pending() { find "$XDG_STATE_HOME"/nacre/store/*/pending -mindepth 1 2> /dev/null | wc -l; }

# --- what is listed ---------------------------------------------------------------------------

workspace listed
echo a > mod
echo b > del
echo moved > old
touch seen dirseen
mkdir -p dir/deep gone
echo x > gone/in
change 'echo more >> mod; rm del; mv old dir/new; touch -d @5 seen; chmod 700 dir/deep; rm -r gone; mkdir made; echo y > made/f; ln -s f made/l'
is 'created' "$(result .changes.created)" '["made","made/f","made/l"]'
is 'modified' "$(result .changes.modified)" '["mod"]'
is 'deleted' "$(result .changes.deleted)" '["del","gone","gone/in"]'
is 'touched' "$(result .changes.touched)" '["dir/deep","seen"]'
is 'renamed' "$(result .changes.renamed)" '[{"from":"old","to":"dir/new"}]'
is 'bytes' "$(result .changes.bytes)" 15
is 'reversible' "$(result .reversible)" true
is 'and when it becomes real' "$(result .commit_point)" '"end"'
is 'nothing is pending' "$(pending)" 0
kept=$(runs_kept)
change 'cat mod > /dev/null; ls; exec 3>> mod; chmod 644 mod; true'
is 'a run that changes nothing lists nothing' "$(result '[.changes | .created, .modified, .deleted, .touched, .renamed] | add')" '[]'
is 'and keeps nothing' "$(runs_kept)" "$kept"
"$NACRE" undo "$id" > "$scratch/out" 2> "$scratch/err"
is 'and cannot be undone' $? 1

# --- undo, redo -------------------------------------------------------------------------------

workspace plain
echo one > file
mkdir d
round 'a run' 'echo two > file; echo new > d/new; rm -f none'
nacre undo "$id"
exits 'undone already: exit 1' 1
like 'undone already: said, with what can be done' "$err" "*is undone*nacre redo*puts it back*"
check 'redone' "$NACRE" redo "$id"
nacre redo "$id"
exits 'redone already: exit 1' 1
nacre commit "$id"
exits 'committed already: exit 1' 1
nacre discard "$id"
exits 'what is real is not discarded: exit 1' 1
is_file 'and is still there' file $'two\n'
nacre undo --json "${id:0:9}"
exits 'undo --json by the start of an id' 0
is 'undo --json' "$(jq -c '[.correlation_id, .status, .conflicts, .later, .changes.modified]' "$scratch/out")" \
    "[\"$id\",\"undone\",[],[],[\"file\"]]"
nacre undo --json "$id"
exits 'undo --json twice: exit 1' 1
is 'undo --json twice: status' "$(jq -r .status "$scratch/out")" error
nacre undo
complains 'no id' 2 'nacre: undo: which run*'
nacre undo ffffffff-ffff-ffff-ffff-ffffffffffff
complains 'an unknown id' 1 'nacre: undo: no run*'
nacre undo '../../x'
complains 'an id that is a path' 1 'nacre: undo: no run*'
nacre undo ''
complains 'an empty id' 1 'nacre: undo: no run*'
for i in $(seq 17); do ln -s "$base/nowhere" "$XDG_STATE_HOME/nacre/runs/aaaaaaaa-0000-4000-8000-0000000000$((i + 10))"; done
nacre undo aaaaaaaa
complains 'an ambiguous id' 1 'nacre: undo: more than one*'
nacre undo aaaaaaaa-0000-4000-8000-000000000011
complains 'one whose changes are gone' 1 'nacre: undo: *no longer kept*'
rm "$XDG_STATE_HOME"/nacre/runs/aaaaaaaa*
check 'what is undone is discarded' "$NACRE" discard "$id"
nacre redo "$id"
exits 'and then gone' 1

# --- older runs -------------------------------------------------------------------------------

workspace older
echo 0 > a
echo 0 > b
look before
change 'echo 1 > a'
first=$id
change 'echo 1 > b; echo n > n'
second=$id
check 'an older run that no later one touched' "$NACRE" undo "$first"
is_file 'is undone' a $'0\n'
is_file 'alone' b $'1\n'
check 'redone' "$NACRE" redo "$first"
change 'echo 2 >> a'
third=$id
change 'echo 3 >> a; echo 3 > c'
fourth=$id
look now
cp "$scratch/now" "$scratch/last"
nacre undo "$first"
exits 'an older run that later ones touched: exit 1' 1
like 'they are named' "$err" "*${third:0:8}*"
like 'all of them' "$err" "*${fourth:0:8}*"
unlike 'and no other' "$err" "*${second:0:8}*"
look now
same 'nothing is done' last now
nacre undo --json "$first"
is 'they are named in JSON' "$(jq -c .later "$scratch/out")" "[\"$third\",\"$fourth\"]"
nacre undo --with-later "$first"
exits '--with-later' 0
is_file 'takes them back' a $'0\n'
check 'and what they did elsewhere' test ! -e c
is_file 'but no other' b $'1\n'
check 'the rest' "$NACRE" undo "$second"
look now
same 'and all is as before' before now
nacre undo --with-later --json "$first"
exits 'already' 1
change 'mkdir -p tree/in; echo x > tree/in/f'
outer=$id
change 'echo y > tree/in/f; echo z > tree/z'
inner=$id
nacre undo "$outer"
exits 'a directory in which a later run worked: exit 1' 1
like 'it is named' "$err" "*${inner:0:8}*"
nacre undo --with-later "$outer"
exits '--with-later, in a directory' 0
look now
same 'all is as before, again' before now

# --- staged -----------------------------------------------------------------------------------

workspace staged
echo one > file
look before
change 'echo two > file; mkdir d; echo x > d/x; rm -f nothing' --stage
is 'a staged run' "$status" ok
like 'says so' "$(result .warnings)" "*nacre commit ${id:0:8}*"
is 'and lists' "$(result .changes.modified)" '["file"]'
look now
same 'nothing is real' before now
nacre undo "$id"
exits 'it cannot be undone' 1
nacre redo "$id"
exits 'nor redone' 1
check 'committed' "$NACRE" commit "$id"
is_file 'it is real' file $'two\n'
is_file 'all of it' d/x $'x\n'
nacre commit "$id"
exits 'committed twice' 1
check 'undone' "$NACRE" undo "$id"
look now
same 'is as before' before now
change 'echo three > file; mkdir -m 000 closed' --stage
kept=$(runs_kept)
check 'discarded' "$NACRE" discard "$id"
look now
same 'nothing is real, either' before now
is 'and nothing is kept' "$(runs_kept)" $((kept - 1))
nacre commit "$id"
exits 'what was discarded cannot be committed' 1
change 'echo four > file; echo n > new' --stage
echo mine > file
nacre commit "$id"
exits 'a conflict at the commit: exit 1' 1
like 'is named' "$err" '*file*'
is_file "a person's edit stays" file $'mine\n'
check 'nothing else is real' test ! -e new
nacre commit --json "$id"
is 'a conflict in JSON' "$(jq -c '.conflicts[0].path' "$scratch/out")" '"file"'
change 'echo twice > twice' --stage
for i in 1 2 3 4; do "$NACRE" commit "$id" > /dev/null 2>&1 & done
wait
check 'committed four times at once: it is real' test -e twice
nacre undo "$id"
exits 'and it can be undone' 0
check 'and is then gone' test ! -e twice

# --- somebody else ----------------------------------------------------------------------------

is_ready() { test -n "$(find "$XDG_STATE_HOME"/nacre/store/*/runs/*/layer0/upper -maxdepth 1 -name .ready 2> /dev/null)"; }
# A run that has done its work, and waits until somebody has done something in the workspace.
meanwhile() { # TEXT OTHER
    mkfifo "$scratch/go"
    "$NACRE" run --json -w . "$1; : > .ready; cat > /dev/null; rm .ready" < "$scratch/go" > "$scratch/result" 2> "$scratch/err" &
    exec 9> "$scratch/go"
    wait_until 8 is_ready
    sleep 0.05
    eval "$2"
    exec 9>&-
    wait $!
    id=$(jq -r .correlation_id "$scratch/result")
    status=$(jq -r .status "$scratch/result")
    rm -f "$scratch/go"
}
workspace person
echo 0 > file
echo 0 > other
mkdir d
meanwhile 'echo run > file; echo run > other' 'echo person > file'
is 'edited during the run: held' "$status" needs_confirmation
is 'the path is listed' "$(result '[.conflicts[].path]')" '["file"]'
is_file "the person's edit is there" file $'person\n'
is_file 'nothing else is real' other $'0\n'
check 'the run can be thrown away' "$NACRE" discard "$id"
meanwhile 'echo run > new' 'echo person > new'
is 'created during the run: held' "$status" needs_confirmation
is_file "the person's file is there" new $'person\n'
meanwhile 'rm file; echo run > other' 'echo again > file'
is 'deleted by the run, edited during it: held' "$status" needs_confirmation
is_file "the person's edit is there, too" file $'again\n'
meanwhile 'echo run >> file; echo run > other' 'rm file'
is 'edited by the run, deleted during it: held' "$status" needs_confirmation
check 'it stays deleted' test ! -e file
echo back > file
meanwhile 'rm -r d' 'echo mine > d/mine'
is 'a directory deleted by the run, a file made in it: held' "$status" needs_confirmation
is_file 'the file is there' d/mine $'mine\n'
meanwhile 'echo run > other' 'echo mine > unrelated; chmod 700 d'
is 'work elsewhere is no conflict' "$status" ok
is_file 'and is there' unrelated $'mine\n'
is 'a mode that was set meanwhile is, too' "$(stat -c %a d)" 700
check 'undone' "$NACRE" undo "$id"

workspace between
between() { # NAME TEXT OTHER PATTERN: what OTHER does after the run is kept by the undo, which lists it
    rm -rf ./*
    echo 0 > file
    echo 0 > other
    mkdir d
    change "$2"
    eval "$3"
    look now
    nacre undo "$id"
    exits "$1: exit 1" 1
    like "$1: listed" "$err" "$4"
    look later
    same "$1: nothing is done" now later
}
between 'edited since' 'echo run > file; echo run > other' 'echo mine > file' '*file*changed since*'
between 'edited in place since' 'echo run > new; echo run > other' 'echo mine >> new' '*new*changed since*'
between 'deleted since' 'echo run > file; echo run > other' 'rm file' '*file*is gone*'
between 'made in the way' 'rm file; echo run > other' 'echo mine > file' '*file*is there already*'
between 'made in the way of a directory' 'rm -r d; echo run > other' 'mkdir d' '*d*is there already*'
between 'new in a directory that is to go' 'mkdir t; echo x > t/x; echo run > other' 'echo mine > t/mine' '*t/mine*is new there*'
between 'new, and deep' 'mkdir -p t/u/v; echo run > other' 'mkdir t/u/w; echo mine > t/u/w/mine' '*t/u/w*is new there*'
between 'became a link' 'echo run > file; echo run > other' 'rm file; ln -s other file' '*file*something else*'
between 'became a directory' 'echo run > file; echo run > other' 'rm file; mkdir file' '*file*something else*'
between 'another mode since' 'echo run > file; echo run > other' 'chmod 600 file' '*file*changed since*'
rm -rf ./*
mkdir d
echo 0 > d/file
change 'echo run > d/file; echo new > d/new'
chmod 700 d
echo mine > d/mine
/usr/bin/python3 -c 'import os; os.setxattr("d", "user.mine", b"1")'
check 'work beside it is no conflict' "$NACRE" undo "$id"
is_file 'and is kept' d/mine $'mine\n'
is "and a directory's mode" "$(stat -c %a d)" 700
is 'and its attributes' "$(/usr/bin/python3 -c 'import os; print(*os.listxattr("d"))')" user.mine
is_file 'what the run did is undone' d/file $'0\n'
nacre redo "$id"
exits 'and redone' 0
echo mine > d/file
nacre undo "$id"
exits 'an edit after the redo: exit 1' 1
is_file 'is kept' d/file $'mine\n'

# --- two runs at the same time ----------------------------------------------------------------

two() { # TEXT TEXT
    "$NACRE" run --json -w . "$1" > "$scratch/r1" 2> /dev/null &
    local one=$!
    "$NACRE" run --json -w . "$2" > "$scratch/r2" 2> /dev/null &
    wait $one $!
    st1=$(jq -r .status "$scratch/r1") st2=$(jq -r .status "$scratch/r2")
    id1=$(jq -r .correlation_id "$scratch/r1") id2=$(jq -r .correlation_id "$scratch/r2")
}
workspace two
echo 0 > same
mkdir d
look before
two 'sleep 0.3; echo 1 > one; echo 1 > d/one' 'sleep 0.3; echo 2 > two; echo 2 > d/two'
is 'two runs at once, apart: both' "$st1 $st2" 'ok ok'
is 'both are real' "$(cat one two d/one d/two | tr '\n' ' ')" '1 2 1 2 '
check 'one is undone' "$NACRE" undo "$id1"
is 'and the other is not' "$(cat two d/two; ls d)" $'2\n2\ntwo'
check 'until it is' "$NACRE" undo "$id2"
look now
/usr/bin/python3 - "$scratch/before" "$scratch/now" << 'P' > "$scratch/differ"
import ast, sys
# Times of directories in which both worked are those of the last.
a, b = [[ast.literal_eval(l) for l in open(f)] for f in sys.argv[1:]]
print([x[0] for x, y in zip(a, b) if x[:3] + x[4:] != y[:3] + y[4:]] + [len(a) - len(b)])
P
is 'all is as before' "$(cat "$scratch/differ")" '[0]'
two 'sleep 0.2; echo 1 > same; echo 1 > one' 'sleep 0.7; echo 2 > same; echo 2 > two'
is 'two runs at once, the same path: the later one is held' "$st1 $st2" 'ok needs_confirmation'
is_file 'the first is real' same $'1\n'
check 'nothing of the second is' test ! -e two
is 'and why is told' "$(jq -r '.conflicts[0].path' "$scratch/r2")" same
like 'what it did is not lost' "$("$NACRE" diff "$id2")" '*+2*'
refute 'but it cannot be committed over the other' "$NACRE" commit "$id2"
is_file 'whose work stays' same $'1\n'
check 'it can be thrown away' "$NACRE" discard "$id2"
is_file 'and that changes nothing' same $'1\n'
is 'nothing is pending' "$(pending)" 0

# --- names of one file ------------------------------------------------------------------------

workspace links
echo 0 > a
ln a b
mkdir d
ln a d/c
look before
change 'echo 1 >> a'
is 'written through one name' "$status" ok
is 'all names show it' "$(cat a b d/c | tr '\n' ' ')" '0 1 0 1 0 1 '
is 'and are names of one file' "$(stat -c %h a) $(stat -c %i a b d/c | sort -u | wc -l)" '3 1'
look after
check 'undone' "$NACRE" undo "$id"
look now
same 'as before' before now
check 'redone' "$NACRE" redo "$id"
look now
same 'as after' after now
check 'undone again' "$NACRE" undo "$id"
round 'one name is replaced' 'echo 1 > t; mv t a; cat b'
check 'redone' "$NACRE" redo "$id"
is 'the others keep the old content' "$(cat a b d/c | tr '\n' ' ')" '1 0 0 '
check 'undone' "$NACRE" undo "$id"
round 'one name is removed' 'rm b'
round 'a name is added' 'ln a e'
round 'the mode is changed through one name' 'chmod 600 a'

# --- kinds and attributes ---------------------------------------------------------------------

workspace kinds
echo x > attr
mkdir xdir
/usr/bin/python3 -c 'import os; os.setxattr("attr", "user.a", b"old"); os.setxattr("xdir", "user.d", b"old")'
round 'extended attributes' "/usr/bin/python3 -c 'import os; os.setxattr(\"attr\", \"user.a\", b\"new\"); os.setxattr(\"attr\", \"user.b\", b\"\"); os.removexattr(\"xdir\", \"user.d\"); os.setxattr(\"xdir\", \"user.e\", b\"1\")'"
mkfifo pipe
round 'a pipe that was there, moved, and one that is new' 'mv pipe pipe2; mkfifo -m 640 new'
check 'redone' "$NACRE" redo "$id"
check 'is a pipe' test -p new
check 'undone' "$NACRE" undo "$id"
change "/usr/bin/python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"sock\")'; echo x > beside"
check 'a socket is not kept' test ! -e sock
like 'and it is said' "$(result .warnings)" '*sock*is a socket*'
check 'what is beside it is' test -e beside
check 'undone' "$NACRE" undo "$id"
in_place 'a socket for a file'
odd=$'new\nline'
change "printf x > \$'new\\nline'; printf y > \$'\\xff\\xfe'"
is 'a name with a newline' "$(result '.changes.created | map(select(type == "string"))')" '["new\nline"]'
is 'a name that is no UTF-8' "$(result '.changes.created | map(select(type == "object"))')" '[{"base64":"//4="}]'
is_file 'it is real' "$odd" x
is_file 'and so is the other' $'\xff\xfe' y
check 'undone' "$NACRE" undo "$id"
is 'both are gone' "$(find . -name "*$odd*" -o -name $'\xff*' | wc -l)" 0
round 'a long name' "touch $(printf 'n%.0s' $(seq 255))"
ln -s nowhere broken
round 'links, one of which leads nowhere' 'ln -sfn elsewhere broken; ln -s ../.. up; ln -s /etc abs'
round 'files become directories and directories files' 'rm attr; mkdir attr; echo 1 > attr/1; rm -r xdir; echo 2 > xdir'
round 'a directory is replaced' 'rm -r xdir; mkdir -m 700 xdir; echo 1 > xdir/1'

workspace modes
mkdir ro wo none
for f in ro/f wo/f none/f f000 f444; do echo x > "$f"; done
chmod 000 f000
chmod 444 f444
round 'a directory that may not be written to is filled' 'chmod 755 ro; echo y > ro/g; chmod 555 ro; echo y > new; chmod 000 new; mkdir -m 000 newdir; mkdir newro; touch newro/x; chmod 555 newro'
chmod 555 ro
chmod 000 none
round 'closed directories are moved and removed' 'chmod 755 ro; mv ro ro2; chmod 555 ro2; rm -f f000 f444; chmod 700 none; rm -r none; mv wo wo2'
round 'their modes are changed' 'chmod 700 none; chmod 755 ro; chmod 644 f000; echo more >> f000; chmod 000 f000; chmod 000 wo'
round 'things in them are changed' 'chmod 755 ro; echo z > ro/f; chmod 555 ro'
chmod 755 ro
look before
change 'chmod 700 none; echo z > none/f; chmod 000 none'
if [ "$status" = ok ]; then
    check 'a file in a closed directory: undone' "$NACRE" undo "$id"
else
    like 'a file in a closed directory: said' "$(result .error)" '*none/f*Permission denied*'
fi
look now
same 'nothing is lost' before now
chmod 755 none

if [ "$me" = 0 ]; then
    workspace setid
    cp /bin/true prog
    chmod 4755 prog
    cat > "$scratch/map.py" << 'P'
import mmap, os
f = os.open("prog", os.O_RDWR)
m = mmap.mmap(f, 0)
m[100:104] = b"evil"
P
    cp "$scratch/map.py" map.py
    look before
    change '/usr/bin/python3 map.py'
    is 'a program with a set-id bit is written to' "$status" ok
    is 'it has no such bit any more' "$(stat -c %a prog)" 755
    like 'and that is said' "$(result .warnings)" '*prog*set-id*'
    check 'undone' "$NACRE" undo "$id"
    look now
    same 'it is as before' before now
    is 'with its bit' "$(stat -c %a prog)" 4755
    change 'cat prog > /dev/null; exec 3<> prog; true'
    is 'one that was only opened keeps it' "$(stat -c %a prog)" 4755
else
    ok 'set-id files are tried as root'
fi

# --- everything is deleted --------------------------------------------------------------------

cat > "$scratch/allow.yaml" << 'Y'
extends: full-auto
shell:
  unknown: allow
  allow: [find, "find -delete", git, "git reset --hard", "git clean -fdx", rm]
accept_irreversible: true
Y
workspace repo
git init -q .
for i in $(seq 30); do echo "$i" > "f$i"; done
git add . && git commit -qm 1
echo mine > uncommitted
echo changed > f1
printf 'ignored\n' > .gitignore
mkdir ignored empty
echo cache > ignored/cache
for text in 'find . -mindepth 1 -delete' 'git reset --hard && git clean -fdx' 'rm -rf ./*'; do
    look before
    for way in "$NACRE" "$JUDGE"; do
        options=()
        if [ "$way" = "$JUDGE" ]; then options=(--config "$scratch/allow.yaml"); fi
        "$way" run --json -w . --timeout 60s "${options[@]}" "$text" > "$scratch/result" 2> "$scratch/err"
        id=$(jq -r .correlation_id "$scratch/result")
        status=$(jq -r .status "$scratch/result")
        look now
        if cmp -s "$scratch/before" "$scratch/now"; then
            like "$text: refused or held ($status)" "$status" '[dn]e*ed*'
        else
            check "$text: undone" "$NACRE" undo "$id"
        fi
        look now
        same "$text: nothing is lost" before now
    done
done

# --- more than the workspace ------------------------------------------------------------------

mkdir "$base/listed-dir" "$base/both"
echo 0 > "$base/listed-dir/file"
workspace main
echo 0 > file
look before
look before2 "$base/listed-dir"
change "echo 1 > file; echo 1 > $base/listed-dir/file; echo 1 > $base/listed-dir/new" --write-path "$base/listed-dir"
is 'a listed directory' "$status $(cat "$base/listed-dir/file" "$base/listed-dir/new" | tr '\n' ' ')" 'ok 1 1 '
look after
look after2 "$base/listed-dir"
check 'undone with the rest' "$NACRE" undo "$id"
look now
same 'the workspace is as before' before now
look now "$base/listed-dir"
same 'so is the listed directory' before2 now
check 'redone' "$NACRE" redo "$id"
look now "$base/listed-dir"
same 'the listed directory is as after' after2 now
check 'undone again' "$NACRE" undo "$id"

mkdir "$base/origin"
git -C "$base/origin" init -q
(cd "$base/origin" && echo 1 > f && git add f && git commit -qm 1 && git worktree add -q "$base/linked")
cd "$base/linked" || exit 1
look before
look before2 "$base/origin"
change 'echo 2 > f; git -c user.name=a -c user.email=a@b commit -qam 2; git log --oneline | wc -l'
is 'a commit in a linked worktree' "$(result .stdout)" '"2\n"'
is 'is real' "$(git -C "$base/linked" log --oneline | wc -l)" 2
check 'undone' "$NACRE" undo "$id"
look now
same 'the worktree is as before' before now
look now "$base/origin"
same 'and so is its repository' before2 now

# --- a link in the place of a directory -------------------------------------------------------

workspace link-for-directory
mkdir -p dir/in/deep elsewhere
echo x > dir/in/deep/file
look before
change 'rm -r dir; ln -s elsewhere dir'
look after
check 'a directory with others in it becomes a link, and is undone' "$NACRE" undo "$id"
look now
same 'and all of it is there' before now
check 'and is redone' "$NACRE" redo "$id"
look now
same 'and is a link again' after now

# --- nothing is written -----------------------------------------------------------------------

workspace readonly
echo x > file
look before
printf 'workspace: ro\n' > "$scratch/ro.yaml"
find "$XDG_STATE_HOME/nacre/store" "$XDG_STATE_HOME/nacre/runs" | sort > "$scratch/store1"
change 'echo y > file; rm -f file; touch new; cat file' --config "$scratch/ro.yaml"
look now
same 'a read-only workspace is not written to' before now
find "$XDG_STATE_HOME/nacre/store" "$XDG_STATE_HOME/nacre/runs" | sort > "$scratch/store2"
same 'nor is anything kept' store1 store2

# --- no overlay -------------------------------------------------------------------------------

if [ "$me" = 0 ]; then
    user=$(id -u "$TEST_USER")
    workspace owners
    mkdir d
    echo root > mine
    echo other > theirs
    echo other > d/theirs
    chown "$user:$user" theirs d/theirs
    mkfifo -m 600 pipe
    ln theirs theirs2
    ln -s theirs link
    round 'files of two owners' 'echo more >> mine; echo new > d/new; rm link; mv pipe d/pipe; mkdir -p e/f; touch e/f/g; chmod 600 mine'
    check 'redone' "$NACRE" redo "$id"
    is 'owners stay' "$(stat -c %u theirs d/theirs mine | tr '\n' ' ')" "$user $user 0 "
    made=$id
    in_place 'in a copy, a socket for a file'
    id=$made
    echo edit > d/new
    nacre undo "$id"
    exits "a person's edit: exit 1" 1
    is_file 'is kept' d/new $'edit\n'
    rm -rf d/new
    meanwhile 'echo run > mine; echo run > e/x' 'echo person > mine'
    is 'edited during the run: held' "$status" needs_confirmation
    is_file "the person's edit is there" mine $'person\n'
    meanwhile 'rm -r e' 'echo person > e/new'
    is_file 'a file made meanwhile in a directory that goes is there' e/new $'person\n'
    meanwhile 'true' 'echo person > fresh; rm theirs2'
    is 'what was made and removed meanwhile stays so' "$status $(test -e fresh && echo made) $(test -e theirs2 || echo removed)" 'ok made removed'
else
    mkdir "$base/dev" "$base/shared"
    ok 'files of other owners are tried as root'
fi

# --- another file system ----------------------------------------------------------------------

elsewhere() { # NAME: the workspace is a file system of its own
    git init -q .
    echo 1 > file
    git add file && git commit -qm 1
    git status --porcelain > /dev/null
    change 'true' # the store is made
    round "$1" 'echo 2 > file; mkdir d; echo 3 > d/new; git status > /dev/null; rm -f none'
    check "$1: the store lies inside" test -d .nacre-store
    is "$1: for the owner alone" "$(stat -c '%a %u' .nacre-store)" "700 $me"
    is "$1: git does not see it" "$(GIT_OPTIONAL_LOCKS=0 git status --porcelain)" ''
    nacre run -w . 'ls -A .nacre-store 2>&1 | wc -l; echo x > .nacre-store/x; rm -rf .nacre-store; ls -A'
    unlike "$1: the inside cannot read it" "$out" '*runs*'
    check "$1: nor remove it" test -d .nacre-store/runs
    check "$1: nor write to it" test ! -e .nacre-store/x
    check "$1: what was undone before is redone" "$NACRE" redo "$id"
    is_file "$1: and is real" d/new $'3\n'
    nacre run -w . 'find . -mindepth 1 -delete; true'
    check "$1: the store stays when everything goes" test -d .nacre-store/runs
}
if [ "$me" = 0 ]; then
    mkdir "$base/fs"
    if mount -t tmpfs -o size=64m none "$base/fs" 2> /dev/null; then
        mounted=$base/fs
        cd "$base/fs" || exit 1
        elsewhere 'another file system'
        cd "$base" || exit 1
    else
        skip 'another file system' 'nothing can be mounted'
    fi
elif [ -d /dev/shm ] && [ -w /dev/shm ]; then
    shm=$(mktemp -d /dev/shm/nacre-test.XXXXXX)
    cd "$shm" || exit 1
    elsewhere 'another file system'
    cd "$base" || exit 1
    chmod -R u+rwx "$shm"
    rm -rf "$shm"
else
    skip 'another file system' 'no /dev/shm'
fi

# --- what is kept has a bound -------------------------------------------------------------------

workspace bound
change 'echo 1 > a'
old=$id
change 'echo 2 > b'
log=$(find "$XDG_STATE_HOME/nacre/store" -name log -exec grep -l "$old" {} +)
sed -i "s/^\([0-9]* $old [0-9]*\) .*/\1 1000/" "$log"
change 'echo 3 > c'
is 'a run goes on when an old one is dropped' "$(cat a b c)" $'1\n2\n3'
refute 'which can no longer be undone' "$NACRE" undo "$old"
check 'while the new one can' "$NACRE" undo "$id"
like 'and that is told' "$(cat "$scratch/result")" '*older run*no longer be undone*'

done_testing

#!/usr/bin/env bash
# nacre diff: what a run changed, as a patch that leads there and back.
# shellcheck disable=SC2016,SC2317 # texts for the shell inside; functions that check calls
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
export XDG_STATE_HOME=$scratch/state
base=$PWD

# An empty workspace of this name, in which we then are.
workspace() {
    mkdir "$base/$1" || exit 1
    cd "$base/$1" || exit 1
}

# Runs a text and leaves the run's id in $id. The workspace before it is in $scratch/before.
change() { # TEXT [OPTION…]
    rm -rf "$scratch/before"
    cp -a . "$scratch/before"
    id=$("$NACRE" run --json -w . "${@:2}" "$1" | jq -r .correlation_id)
}

alike() { diff -r --no-dereference "$1" "$2"; }

# The patch of $id in a copy of a tree: `there` from what was before, `back` from what is now.
applied() { # TOOL… < patch
    rm -rf "$scratch/copy"
    cp -a "$from" "$scratch/copy"
    (cd "$scratch/copy" && "$@" < "$scratch/patch")
}
both_ways() { # NAME AFTER: the tree after the run
    local from
    "$NACRE" diff "$id" > "$scratch/patch"
    from=$scratch/before
    check "$1: patch applies" applied patch -s -p1 --fuzz=0
    check "$1: patch comes to the tree after" alike "$2" "$scratch/copy"
    check "$1: git applies" applied git apply -
    check "$1: git comes to the tree after" alike "$2" "$scratch/copy"
    from=$2
    check "$1: patch -R applies" applied patch -s -R -p1 --fuzz=0
    check "$1: patch -R comes to the tree before" alike "$scratch/before" "$scratch/copy"
    check "$1: git apply -R applies" applied git apply -R -
    check "$1: git apply -R comes to the tree before" alike "$scratch/before" "$scratch/copy"
}

# --- the form --------------------------------------------------------------------------------

workspace form
printf '1\n2\n3\n4\n5\n6\n7\n8\n9\n' > text
change 'sed -i s/5/five/ text'
nacre diff "$id"
prints 'a changed line' 'diff --git a/text b/text
--- a/text
+++ b/text
@@ -2,7 +2,7 @@
 2
 3
 4
-5
+five
 6
 7
 8'
nacre diff "${id:0:8}"
like 'the start of the id will do' "$out" '*+five*'

workspace created
change 'printf "a\nb" > new; : > empty'
nacre diff "$id"
prints 'created files' 'diff --git a/empty b/empty
new file mode 100644
index 0000000..e69de29
diff --git a/new b/new
new file mode 100644
--- /dev/null
+++ b/new
@@ -0,0 +1,2 @@
+a
+b
\ No newline at end of file'

workspace deleted
echo bye > old
change 'rm old'
nacre diff "$id"
prints 'a deleted file' 'diff --git a/old b/old
deleted file mode 100644
--- a/old
+++ /dev/null
@@ -1 +0,0 @@
-bye'

workspace renamed
echo 'the same' > one
change 'mkdir sub; mv one sub/two; chmod 600 sub/two'
nacre diff "$id"
prints 'a renamed file, with another mode' 'created directory: sub
diff --git a/one b/sub/two
old mode 100644
new mode 100600
similarity index 100%
rename from one
rename to sub/two'

workspace modes
echo x > script
echo x > seen
mkdir dir
change 'chmod 755 script; touch -d @5 seen; chmod 700 dir'
nacre diff "$id"
prints 'modes and times' 'mode 0755 to 0700 of directory: dir
diff --git a/script b/script
old mode 100644
new mode 100755
touched: seen'

workspace links
ln -s here link
echo x > file
change 'ln -sfn there link; rm file; ln -s elsewhere file; mkfifo pipe'
nacre diff "$id"
prints 'links, a file that became one, and a pipe' 'diff --git a/file b/file
deleted file mode 100644
--- a/file
+++ /dev/null
@@ -1 +0,0 @@
-x
diff --git a/file b/file
new file mode 120000
--- /dev/null
+++ b/file
@@ -0,0 +1 @@
+elsewhere
\ No newline at end of file
diff --git a/link b/link
old mode 120000
new mode 120000
--- a/link
+++ b/link
@@ -1 +1 @@
-here
\ No newline at end of file
+there
\ No newline at end of file
created fifo: pipe'
nacre diff --name-only "$id"
prints '--name-only has each path once' 'file
link
pipe'

workspace binary
printf 'a\0b' > data
change "printf 'a\\0c' > data; printf '\\0' > more; truncate -s 17M large"
nacre diff "$id"
prints 'binary and large files' 'diff --git a/data b/data
old mode 100644
new mode 100644
Binary files a/data and b/data differ
diff --git a/large b/large
new file mode 100644
Binary files /dev/null and b/large differ
diff --git a/more b/more
new file mode 100644
Binary files /dev/null and b/more differ'
nacre diff --stat "$id"
prints 'binary files in --stat' ' data  | Bin 3 -> 3 bytes
 large | Bin 0 -> 17825792 bytes
 more  | Bin 0 -> 1 bytes
 3 files changed'

workspace replaced
mkdir tree
echo x > tree/file
change 'rm -r tree; echo y > tree'
nacre diff "$id"
prints 'a directory that became a file' 'deleted directory: tree
diff --git a/tree/file b/tree/file
deleted file mode 100644
--- a/tree/file
+++ /dev/null
@@ -1 +0,0 @@
-x
diff --git a/tree b/tree
new file mode 100644
--- /dev/null
+++ b/tree
@@ -0,0 +1 @@
+y'

# --- there and back --------------------------------------------------------------------------

make_tree() {
    mkdir -p src/deep 'with blank'
    seq 1 200 > src/long
    printf 'no end' > src/deep/short
    echo keep > src/kept
    echo moved > src/moved
    printf 'x\r\ny\r\n' > 'with blank/dos file'
    echo odd > $'tab\there "quoted" \\ \xc3\xa4 \xff'
    : > empty
    ln -s src/long link
    echo plain > mode
}
all_kinds='sed -i -e 3d -e 50s/0/zero/ -e "120a added" src/long; echo >> src/deep/short
mv src/moved src/deep/arrived; echo z >> "with blank/dos file"
echo more >> "$(echo tab*)"; rm empty; : > nothing; ln -sfn src/kept link; chmod 755 mode
mkdir new; printf last > new/file; ln -s file new/link; echo name > "new/ü \$x"'

workspace real
make_tree
change "$all_kinds"
both_ways 'a real run' .

nacre diff "$id"
cp "$scratch/out" "$scratch/real"
check 'it can be undone' "$NACRE" undo "$id"
nacre diff "$id"
check 'undone: the same diff' cmp "$scratch/out" "$scratch/real"
check 'it can be redone' "$NACRE" redo "$id"
nacre diff "$id"
check 'redone: the same diff' cmp "$scratch/out" "$scratch/real"

cp -a . "$scratch/after"
workspace held
make_tree
change "$all_kinds" --stage
check 'a staged run has changed nothing' alike . "$scratch/before"
both_ways 'a held run' "$scratch/after"
check 'it can be committed' "$NACRE" commit "$id"
nacre diff "$id"
check 'committed: the same diff' cmp "$scratch/out" "$scratch/patch"

# --- what is not shown -----------------------------------------------------------------------

workspace since
echo one > mine
echo one > other
change 'echo two > mine; echo two > other'
echo three > mine
nacre diff "$id"
exits 'what somebody changed since: exit 1' 1
is 'what somebody changed since is named and not compared' "$out" 'changed since: mine
diff --git a/other b/other
--- a/other
+++ b/other
@@ -1 +1 @@
-one
+two'
echo two > mine
nacre diff "$id"
like 'the same content again is the same' "$out" '*a/mine*-one*+two*a/other*'
rm mine
ln -s other mine
nacre diff "$id"
like 'a link in its place is not followed' "$out" 'changed since: mine*'
rm mine
mkfifo mine
nacre diff "$id"
like 'a pipe in its place is not waited for' "$out" 'changed since: mine*'
nacre diff --json "$id"
is 'JSON says so, too' "$(jq -r '.diffs[0].note' "$scratch/out")" 'changed since'
exits 'JSON: exit 1' 1

if [ "$(id -u)" != 0 ]; then
    workspace unreadable
    echo x > secret
    change 'echo y > secret'
    chmod 000 secret
    nacre diff "$id"
    is 'what may not be read is named' "$out" 'cannot be read (Permission denied): secret'
    exits 'what may not be read: exit 1' 1
else
    ok 'root may read everything'
fi

# --- other forms -----------------------------------------------------------------------------

workspace forms
seq 1 300 > many
echo a > few
echo m > moved
change 'sed -i 1,200s/$/!/ many; echo b >> few; mkdir d; mv moved d/moved'
nacre diff --stat "$id"
prints '--stat' " d                | created directory
 moved => d/moved |   0
 few              |   1 +
 many             | 400 ++++++++++++++++++++++++++++----------------------------
 3 files changed, 201 insertions(+), 200 deletions(-)"
nacre diff --name-only "$id"
prints '--name-only' 'd
d/moved
few
many'
nacre diff --json "$id"
exits '--json' 0
is '--json: whose' "$(jq -r '.correlation_id + " " + .state' "$scratch/out")" "$id applied"
is '--json: changes as in a result' "$(jq -c .changes.modified "$scratch/out")" '["few","many"]'
is '--json: diffs' "$(jq -c '.diffs[] | [.path, .from, .kind, .old_mode, .new_mode, .binary, .added]' "$scratch/out")" \
    '["d",null,"created",null,"040755",false,0]
["d/moved","moved","renamed","100644","100644",false,0]
["few",null,"modified","100644","100644",false,1]
["many",null,"modified","100644","100644",false,200]'
jq -j '.diffs[].diff' "$scratch/out" > "$scratch/joined"
nacre diff "$id"
check '--json: the same text' cmp "$scratch/out" "$scratch/joined"

# --- a terminal ------------------------------------------------------------------------------

on_terminal() { # [NAME=VALUE…] COMMAND…
    env TERM=xterm script -qec "env $*" /dev/null < /dev/null | tr -d '\r'
}
workspace terminal
printf 'x\n' > file
change "printf 'x\\n\\033]0;title\\007\\342\\200\\256end\\n' > file"
nacre diff "$id"
like 'not a terminal: the bytes as they are' "$out" $'*+\033]0;title\007*'
shown=$(on_terminal PAGER= "$NACRE" diff "$id")
like 'a terminal: escaped' "$shown" '*+\\x1b]0;title\\x07\\u{202e}end*'
unlike 'a terminal: nothing that it would obey' "$shown" $'*\033]*'
like 'a terminal: coloured' "$shown" $'*\033[32m+*\033[m*'
shown=$(on_terminal PAGER= NO_COLOR=1 "$NACRE" diff "$id")
unlike 'NO_COLOR: not coloured' "$shown" $'*\033*'
like 'NO_COLOR: escaped all the same' "$shown" '*+\\x1b]0;title*'
shown=$(on_terminal "'PAGER=sed s/^/paged:/'" NO_COLOR=1 "$NACRE" diff "$id")
like '$PAGER is used' "$shown" '*paged:--- a/file*'
shown=$(PAGER='sed s/^/paged:/' "$NACRE" diff "$id")
unlike 'no terminal: no pager' "$shown" '*paged:*'
shown=$(on_terminal "'PAGER=sed s/^/paged:/'" "$NACRE" diff --json "$id")
unlike 'JSON: no pager' "$shown" '*paged:*'

workspace flood
change 'seq 1 300000 > file'
shown=$(on_terminal PAGER=true "$NACRE" diff "$id" '; echo "exit $?"')
is 'a reader who leaves early is no failure' "$shown" 'exit 0'
shown=$(on_terminal PAGER=/nonexistent/pager "$NACRE" diff "$id" '; echo "exit $?"')
like 'a pager that is not there is a failure' "$shown" '*exit 1'
"$NACRE" diff "$id" 2> "$scratch/err" | head -1 > "$scratch/out"
is_file 'a closed pipe is quiet' "$scratch/out" 'diff --git a/file b/file
'

# --- wrong calls -----------------------------------------------------------------------------

nacre diff
complains 'no id' 2 'nacre: diff: which run*'
nacre diff a b
complains 'two ids' 2 'nacre: diff: which run*'
nacre diff --stat --json "$id"
complains 'two forms' 2 'nacre: diff: only one of*'
nacre diff ffffffff-0000-0000-0000-000000000000
complains 'no such run' 1 "nacre: diff: no run 'ffffffff*"
nacre diff --json ffffffff-0000-0000-0000-000000000000
is 'no such run, as JSON' "$(jq -r .status "$scratch/out")" error
exits 'no such run, as JSON: exit 1' 1
"$NACRE" diff "$id" > /dev/full 2> "$scratch/err"
is 'a full disk: exit 1' "$?" 1
check 'it can be undone at last' "$NACRE" undo "$id"
check 'and discarded' "$NACRE" discard "$id"
nacre diff "$id"
exits 'what was discarded cannot be shown' 1
# What the kernel keeps in a layer lets nobody in.
chmod -R u+rwx "$scratch/state"
done_testing

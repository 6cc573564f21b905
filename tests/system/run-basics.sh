#!/usr/bin/env bash
# What `nacre run` promises to somebody who only wants a command run.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

here=$PWD
am_root=false
if [ "$(id -u)" = 0 ]; then am_root=true; fi

# --- the text ---------------------------------------------------------------------------------

nacre run 'echo one two'
prints 'a text runs' 'one two'
nacre shell run 'echo one two'
prints 'nacre shell run is the same' 'one two'
nacre run $'echo a\necho "b  c"; x=1; echo $x'
prints 'a text of several lines' $'a\nb  c\n1'
nacre run ''
prints 'an empty text does nothing' ''
nacre run $'# only a comment'
prints 'a comment does nothing' ''
nacre run 'printf "%s\n" "$0" "$#"'
prints 'the text has no arguments' $'bash\n0'
nacre run 'if then fi'
exits 'a text that cannot be read is refused' 126
is 'with its place and what was expected' "$err" "nacre: refused: line 1, column 4: unexpected 'then': expected a command
  if then fi
     ^"

printf 'echo from stdin; cat' | { nacre run -; prints 'run - reads the text' 'from stdin'; }
printf -- '-x\n' | { nacre run -; exits 'a text that begins with a dash is no option of bash' 127; }
nacre run '-x foo'
complains 'a word that begins with a dash is an option of ours' 125 "nacre: run: unknown option '-x*"

# --- separate words ---------------------------------------------------------------------------

nacre run -- printf '<%s>' 'a b' '' "it's" '"' '$HOME' '`id`' '*' $'two\nlines' "\\" 'é' '~' '#x' '!' '&' ';' '<' '{a,b}'
prints 'words stay what they are' $'<a b><><it\'s><"><$HOME><`id`><*><two\nlines><\\><é><~><#x><!><&><;><<><{a,b}>'
for word in 'if' 'then' 'fi' 'for' 'while' 'case' '{' '}' '!' '[[' function select coproc 'a=b' 'x y' 'nö-such' '-n' '--version' '--'; do
    nacre run -- "$word"
    exits "the first word '$word' is a command's name" 127
done
nacre run -- time true
unlike 'nor is time the one of the shell' "$err" '*real*user*sys*'
nacre run -- ''
exits 'an empty first word is a command that is not there' 127
nacre run -- exit 7
exits 'a builtin may be the first word' 7
nacre run -- echo -- --json -
prints 'options behind -- belong to the command' '-- --json -'
nacre run --json -- echo --json
is 'options before -- are ours' "$(jq -r .stdout <<< "$out")" '--json'

# --- exit codes -------------------------------------------------------------------------------

for n in 0 1 2 42 126 127 255; do
    nacre run "exit $n"
    exits "exit $n" "$n"
done
nacre run 'no-such-command-here'
exits 'a command that is not there' 127
nacre run /etc/hostname
exits 'a file that is no program' 126
for signal in TERM:143 KILL:137 SEGV:139 ABRT:134 INT:130; do
    nacre run "kill -${signal%:*} \$\$; sleep 5"
    exits "killed by SIG${signal%:*}" "${signal#*:}"
done
nacre run --timeout 300ms 'sleep 20'
exits 'past the time limit' 124
nacre run --cwd /usr 'true'
exits 'nacre itself failed' 125
printf 'echo a\0b' | { nacre run -; exits 'refused' 126; }

# --- streams ----------------------------------------------------------------------------------

nacre run 'echo to out; echo to err >&2'
is 'standard output alone' "$out" 'to out'
is 'standard error alone' "$err" 'to err'

echo 'small input' | { nacre run 'cat; echo end'; prints 'standard input is passed on' $'small input\nend'; }
nacre run 'cat; echo end' < /dev/null
prints 'an empty input ends' 'end'
nacre run 'cat; echo end' <&-
prints 'a closed input is an empty one' 'end'
head -c 5000000 /dev/urandom > "$scratch/5mb"
nacre run 'sha256sum' < "$scratch/5mb"
prints '5 MB in, unharmed' "$(sha256sum < "$scratch/5mb")"
"$NACRE" run --limit output=8MB 'cat' < "$scratch/5mb" > "$scratch/copy"
check '5 MB through, unharmed' cmp "$scratch/5mb" "$scratch/copy"
(sleep 0.2; echo late) | { nacre run 'read -r x; echo "got $x"'; prints 'input that comes late' 'got late'; }
head -c 50000000 /dev/zero | {
    nacre run 'exec <&-; sleep 0.3; echo closed'
    prints 'a program that closes its input while 50 MB come' 'closed'
}
head -c 50000000 /dev/zero | { nacre run 'head -c 3 | wc -c'; prints 'a program that wants 3 bytes of 50 MB' 3; }
# The writer never ends: the command does, and so does nacre.
"$NACRE" run 'head -c 2; echo done' < <(printf ab; exec sleep 30) > "$scratch/out" 2>&1 &
pid=$!
check 'nacre does not wait for the end of its own input' wait_until 10 bash -c "! kill -0 $pid 2>/dev/null"
is 'and the output is there' "$(cat "$scratch/out")" 'abdone'
nacre run 'cat >/dev/null; echo end' < "$PWD"
prints 'an input that cannot be read is an empty one' 'end'

nacre run 'echo x > /dev/stdout'
prints '/dev/stdout' x
nacre run 'echo x > /dev/stderr'
is '/dev/stderr' "$err" x
echo y | { nacre run 'cat /dev/stdin'; prints '/dev/stdin' y; }
echo y | { nacre run 'cat /dev/fd/0 /proc/self/fd/0'; prints '/dev/fd/0' y; }
nacre run 'echo x | tee /dev/stderr'
is 'tee /dev/stderr' "$out$err" xx
nacre run 'exec 7> /dev/fd/1; echo x >&7'
prints '/dev/fd/1 can be opened' x

# --- what shells do ---------------------------------------------------------------------------

nacre run $'cat <<EOF\nhere $((1+1))\nEOF'
prints 'a here-document' 'here 2'
nacre run $'cat <<EOF\n$(head -c 300000 /dev/zero | tr "\\0" x | wc -c)\nEOF'
prints 'a here-document with a substitution' 300000
nacre run 'x=$(head -c 200000 /dev/zero | tr "\0" x); cat <<EOF | wc -c
$x
EOF'
prints 'a here-document larger than a pipe' 200001
nacre run 'cat <<< "a string"'
prints 'a here-string' 'a string'
nacre run 'cat <(echo a) <(echo b); echo c > >(cat); wait $!'
prints 'process substitution' $'a\nb\nc'
nacre run 'diff <(echo a) <(echo a) && echo same'
prints 'two of them' same
nacre run 'seq 1 100000 | sort -rn | head -1; echo "${PIPESTATUS[@]}"'
like 'pipes' "$out" '100000*'
nacre run 'sleep 0.1 & wait $!; echo "$?"; (exit 3) & wait $!; echo $?'
prints 'background jobs' $'0\n3'
nacre run 'trap "echo trapped" EXIT; exit 4'
is 'traps' "$out" trapped
nacre run 'set -o pipefail; false | true'
exits 'pipefail' 1
nacre run 'ulimit -c; x=(a b); echo "${x[1]}"; [[ abc =~ b ]] && echo match'
prints 'it is bash, without core files' $'0\nb\nmatch'

# --- scratch places ---------------------------------------------------------------------------

nacre run 'f=$(mktemp) && echo t > "$f" && cat "$f" && dirname "$f"; echo "$TMPDIR"'
prints 'mktemp' $'t\n/tmp\n/tmp'
for dir in /tmp /var/tmp /dev/shm /run '$HOME'; do
    nacre run "echo x > $dir/nacre-basics && cat $dir/nacre-basics"
    prints "$dir can be written" x
    check "$dir is not the host's" test ! -e "$(eval "echo $dir")/nacre-basics"
    nacre run "ls $dir/nacre-basics 2>&1"
    unlike "$dir is new for every run" "$code" 0
done
nacre run 'echo "$HOME $USER $LOGNAME $(id -un) $(hostname)"; cd && pwd'
prints 'home and names' "$HOME agent agent agent nacre"$'\n'"$HOME"
nacre run 'echo "$PATH"; env | grep -c .'
like 'a PATH of its own' "$out" '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin*'

# --- the workspace ----------------------------------------------------------------------------

mkdir -p ws/sub/deep 'ws/odd name' other
ln -s "$here/other" ws/out
ln -s sub ws/in
ln -s "$here/ws" link
nacre run -w ws 'pwd; echo made > file'
prints 'the command starts in the workspace' "$here/ws"
is_file 'what it writes is there' ws/file $'made\n'
nacre run --workspace="$here/link" pwd
prints 'a workspace named through a link is the place itself' "$here/ws"
nacre run -w ws 'rm file; mkdir -p a/b; mv a c; ln -s c d; chmod 700 c; echo x >> d/b/f; cat c/b/f'
prints 'files are moved, linked, removed' x
check 'and so they are outside' test ! -e ws/file -a -f ws/c/b/f -a -L ws/d
nacre run -w 'ws/odd name' pwd
prints 'a workspace with a blank in its name' "$here/ws/odd name"
odd=$'ws/n\nl \'"$x`\\é'
mkdir "$odd"
nacre run -w "$odd" 'echo x > f; cat "$PWD/f"'
prints 'a workspace with every odd character in its name' x
nacre run -w ws "echo x > $here/other/f"
check 'a sibling of the workspace is not written' test ! -e other/f

nacre run -w ws --cwd sub/deep pwd
prints '--cwd, relative' "$here/ws/sub/deep"
nacre run -w ws --cwd "$here/ws/sub" pwd
prints '--cwd, absolute' "$here/ws/sub"
nacre run -w ws --cwd . pwd
prints '--cwd .' "$here/ws"
nacre run -w ws --cwd in/../sub/deep/.. pwd
prints '--cwd through a link that stays inside' "$here/ws/sub"
for dir in .. "$here/other" out / /tmp ../ws-not; do
    nacre run -w ws --cwd "$dir" 'touch ran'
    complains "--cwd $dir: outside" 125 "nacre: directory '$dir': *"
done
mkdir ws-not
nacre run -w ws --cwd "$here/ws-not" 'touch ran'
complains 'a name that only begins like the workspace is outside' 125 '*not in the workspace*'
nacre run -w ws --cwd nowhere 'touch ran'
complains '--cwd that is not there' 125 "nacre: directory 'nowhere': No such file*"
nacre run -w ws --cwd c/b/f 'touch ran'
complains '--cwd that is a file' 125 "nacre: directory 'c/b/f': Not a directory*"
is 'none of these ran' "$(find . -name ran)" ''

# Which directory it is when none is named.
mkdir -p git/.git git/a/b mark/.nacre mark/x/y plain/p
workspace_in() { (cd "$1" && "$NACRE" run pwd); }
is 'the nearest parent with .git' "$(workspace_in git/a/b)" "$here/git"
is 'the nearest parent with .nacre' "$(workspace_in mark/x/y)" "$here/mark"
is 'else the directory itself' "$(workspace_in plain/p)" "$here/plain/p"
mkdir -p mark/x/.git
is 'the nearest, not the first' "$(workspace_in mark/x/y)" "$here/mark/x"
rm -r mark/x/.git
echo 'gitdir: elsewhere' > mark/x/.git
is 'a .git that is a file counts too' "$(workspace_in mark/x/y)" "$here/mark/x"
mkdir "$scratch/gone"
(cd "$scratch/gone" && rmdir "$scratch/gone" && nacre run 'echo ran' && echo "$code $out $err") > "$scratch/gone-out" 2>&1
like 'a directory that is gone is no workspace' "$(cat "$scratch/gone-out")" '125  nacre: *'
if $am_root; then
    mkdir -p foreign/mine shared/mine shared2/mine
    mkdir foreign/.git
    chown "$TEST_USER" foreign
    is 'a parent of another owner is not used' "$(workspace_in foreign/mine)" "$here/foreign/mine"
    chmod 1777 shared shared2
    chmod 755 .
    runuser -u "$TEST_USER" -- mkdir "$here/shared/.git"
    is 'a marker that somebody else put there is not used' "$(workspace_in shared/mine)" "$here/shared/mine"
    runuser -u "$TEST_USER" -- ln -s /etc "$here/shared2/.nacre"
    is 'nor one that is a link' "$(workspace_in shared2/mine)" "$here/shared2/mine"
fi

for dir in / /usr /etc /home /tmp /var /proc /sys /dev /bin /lib /opt /run /boot /etc/ssl /proc/self /sys/kernel /dev/pts; do
    [ -d "$dir" ] || continue
    nacre run -w "$dir" "echo ran > $here/ran"
    complains "$dir is refused as a workspace" 125 "nacre: workspace '*"
done
is 'and nothing ran' "$(find . -name ran)" ''
(cd / && nacre run 'echo ran' && echo "$code $out") > "$scratch/root-out" 2>&1
is 'nor is / when it is the current directory' "$(cat "$scratch/root-out")" '125 '
shm=$(mktemp -d /dev/shm/nacre-test.XXXXXX)
nacre run -w "$shm" 'echo x > f; cat f'
prints 'a directory in /dev/shm can be one' x
rm -rf "$shm"
home=$scratch/home
mkdir -p "$home/project"
HOME=$home nacre run -w "$home" 'echo ran'
like 'a workspace that is the home is warned of' "$err" 'nacre: warning: the workspace *home directory*'
is 'and works' "$out$code" ran0
HOME=$home nacre run -w "$home/project" 'echo ran'
prints 'a project in the home is not' ran

# --- owners and modes -------------------------------------------------------------------------

nacre run -w ws 'touch owned; mkdir owned-dir; ln -s x owned-link; stat -c %u:%g owned'
prints 'inside, files belong to the agent' 1000:1000
for name in owned owned-dir owned-link; do
    is "outside, $name belongs to the workspace's owner" "$(stat -c %u:%g ws/$name)" "$(stat -c %u:%g ws)"
done
for mask in 022:644:755 077:600:700 002:664:775; do
    IFS=: read -r bits file dir <<< "$mask"
    (umask "$bits" && "$NACRE" run -w ws "touch m$bits; mkdir d$bits; umask")  > "$scratch/mask"
    is "umask $bits is passed on" "$(cat "$scratch/mask")" "0$bits"
    is "and gives the modes of files" "$(stat -c %a "ws/m$bits")$(stat -c %a "ws/d$bits")" "$file$dir"
done
if $am_root; then
    chmod 755 .
    mkdir theirs
    echo theirs > theirs/before
    echo roots > theirs/roots
    chown "$TEST_USER:" theirs theirs/before
    chmod 600 theirs/roots theirs/before
    nacre run -w theirs 'cat before; echo more >> before; touch after; stat -c %U after; cat roots 2>&1; echo no >> roots'
    is 'by root in a user'"'"'s workspace: files of that user' "$(stat -c %U theirs/after theirs/before | uniq)" "$TEST_USER"
    is_file 'which can be changed' theirs/before $'theirs\nmore\n'
    is_file 'root'"'"'s file in it cannot' theirs/roots $'roots\n'
    unlike 'nor be read' "$out" '*roots'$'\n''*'
    is 'nothing is left to an id of ours' "$(find . -uid +1700000000)" ''
fi

# --- real tools -------------------------------------------------------------------------------

mkdir repo
nacre run -w repo 'git init -q . && echo x > f && git add f && git -c user.name=a -c user.email=a@b commit -q -m first && git log --format=%s && git status --short'
prints 'git works' first
check 'its repository is there' test -d repo/.git/refs
if [ -x /usr/bin/python3 ]; then
    nacre run '/usr/bin/python3 -c "import os, tempfile, json, hashlib; print(os.getcwd() == os.environ[\"PWD\"], 6*7)"'
    prints 'python3 works' 'True 42'
    nacre run '/usr/bin/python3 -c "
import multiprocessing as m
with m.Pool(2) as p: print(sum(p.map(abs, range(-5, 0))))"'
    prints 'and its pools, which need /dev/shm' 15
fi
if [ -x /usr/bin/node ]; then
    nacre run 'node -e "console.log(6*7)"'
    prints 'node works' 42
fi
if [ -x /usr/bin/gcc ]; then
    nacre run -w ws 'printf "#include <stdio.h>\nint main(void) { puts(\"built\"); return 0; }\n" > a.c && gcc a.c -o a.out && ./a.out'
    prints 'gcc works, and what it makes runs' built
fi
nacre run 'kill -SEGV $$'
exits 'a crash' 139
is 'leaves no core file' "$(find . -name 'core*')" ''

# --- long texts -------------------------------------------------------------------------------

{
    printf 'echo begin\n: %0200000d\n' 0
    printf '%s\n' 'echo "$#" $LINENO; ls /proc/self/fd | wc -l; read -r x; echo "got $x"; exit 9'
} > "$scratch/long"
is 'a text of 200 KB' "$(stat -c %s "$scratch/long" | cut -c1-3)" 200
echo input | { nacre run -- bash -c "$(head -c 100000 "$scratch/long" | tail -c 99000 | tr -d '\n' | sed 's/.*/: &/'); cat"; is 'near the limit of one argument' "$out$code" input0; }
nacre run - < "$scratch/long"
exits 'a text of 200 KB is run' 9
is 'and has no more than an ordinary one' "$out" $'begin\n0 3\n4\ngot '
size=$((4 << 20))
{
    printf 'echo whole; exit 3 #'
    head -c $((size - 20)) /dev/zero | tr '\0' x
} > "$scratch/exact"
is 'a text of exactly 4 MiB' "$(stat -c %s "$scratch/exact")" "$size"
nacre run - < "$scratch/exact"
is 'is run' "$out $code" 'whole 3'
{
    printf 'touch ran\n'
    head -c $((size - 9)) /dev/zero | tr '\0' '\n'
} > "$scratch/more"
is 'a text of one byte more' "$(stat -c %s "$scratch/more")" $((size + 1))
nacre run - < "$scratch/more"
complains 'is refused' 126 'nacre: *4194304*'
check 'and not run' test ! -e ran

done_testing

#!/usr/bin/env bash
# The daemon: runs through it are like those without, in warm sandboxes that are each used once; who asks and goes
# takes its run along; nothing is left of it.
# shellcheck disable=SC2016,SC2317 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

figure() { "$NACRE" daemon --status --json | jq -r ".$1"; }
ready() { [ "$(figure ready)" -ge "$1" ]; }
begin() { # OPTIONS…
    "$NACRE" daemon "$@" > "$scratch/daemon-out" 2>&1 &
    daemon=$!
    wait_until 5 test -S "$XDG_STATE_HOME/nacre/daemon/socket"
}
over() { ! kill -0 "$daemon" 2> /dev/null; }

mkdir ws
echo content > ws/file
nacre daemon --status
complains 'without one it says so' 1 'nacre: daemon: there is none'
nacre daemon --stop
complains 'and has nothing to stop' 1 'nacre: daemon: there is none'
nacre daemon --pool many
complains 'a pool is a number' 2 "nacre: daemon: --pool wants a number*"

begin --pool 2
nacre daemon
complains 'a second one is refused' 1 'nacre: daemon: there is a daemon already'
nacre run -w ws 'cat file'
prints 'the first run finds none that is ready, and works' content
check 'then some are built' wait_until 10 ready 2
nacre run -w ws 'cat file'
prints 'a warm run' content
is 'one was used' "$(figure used)" 1
like 'status tells of it' "$("$NACRE" status)" '*pool        * ready, 1 used, built in * us each (daemon *'

# What a run gives and leaves is the same, warm or not.
fields='del(.correlation_id, .duration_ms, .resource_usage, .ledger, .timestamp, .fs_hash_before, .fs_hash_after,
    .executed)'
same() { # NAME TEXT [OPTIONS…]
    local name=$1 text=$2 one two used
    shift 2
    wait_until 10 ready 1
    used=$(figure used)
    one=$("$NACRE" run --json -w ws "$@" "$text" < "$input" 2>&1)
    is "$name: it was a warm one" "$(figure used)" "$((used + 1))"
    two=$(XDG_STATE_HOME=$scratch/other "$NACRE" run --json -w tw "$@" "$text" < "$input" 2>&1)
    is "$name" "$(jq -S "$fields" <<< "$one")" "$(jq -S "$fields" <<< "$two" | sed "s,$PWD/tw,$PWD/ws,g")"
    is "$name: the same is left" "$(cd ws && find . -printf '%p %y %m %s\n' | sort)" "$(cd tw && find . -printf '%p %y %m %s\n' | sort)"
}
cp -a ws tw
input=/dev/null
same 'output, error and status' 'echo out; echo err >&2; exit 7'
same 'where it is' 'pwd; cd /; pwd; echo "$OLDPWD" "$PWD"'
same 'no directory before' 'echo "[$OLDPWD]"; cd - 2>&1'
same 'variables' 'env | grep -v ^_= | sort; echo "$0 $# $- $SHLVL $PPID $$"'
same 'shell variables' 'declare -p | cut -d= -f1 | grep -vE "B[A]SH|RANDOM|SECONDS|EPOCH|PIPESTATUS|_$"; echo $((SECONDS < 2))'
same 'nobody has left a word' 'x=RE; x+=PLY; echo "[${!x-none}]"'
same 'descriptors' 'ls /proc/self/fd | tr "\n" " "; [ -p /dev/stdin ] && echo pipe; ls -l /proc/self/fd/0 | cut -d">" -f2 | tr -d 0-9'
same 'a plain command' 'cat file'
same 'one that is not there' 'not-a-command 1 2'
same 'one that a signal ends' "sh -c 'kill -9 \$\$'"
same 'processes' 'sleep 0.01 & wait; jobs; ps -o pid=,args= > /tmp/listed; wc -l < /tmp/listed'
same 'changes' 'mkdir -p d/e; echo x > d/e/f; rm file; ln -s d l; chmod 700 d'
same 'limits' 'ulimit -a'
same 'a directory below' 'pwd; ls' --cwd d
same 'quotes' "printf '%s|' 'a b' \"c'd\" \$'e\\nf'; cat << 'END'
\$x \`y\`
END"
same 'two lines' $'x=1\necho $LINENO\nfalse || echo "$? $x"'
(umask 027 && "$NACRE" run -w ws true && "$NACRE" run -w ws true; umask 027 && same 'a umask' 'touch made; stat -c %a made') || test_failed=1
test_count=$((test_count + 3))
echo 'from outside' > "$scratch/input"
input=$scratch/input
same 'standard input' 'cat; [ -p /dev/stdin ] && echo pipe'
input=/dev/null

# Of what was kept for it nothing is there when it begins.
same 'mounts' 'cut -d" " -f5- /proc/self/mountinfo | grep -cE "hanger|/store/"; cut -d" " -f5 /proc/self/mountinfo | sort'

# Which programs ran is known likewise, but that bash stays for its last command.
wait_until 10 ready 1
is 'programs' "$("$NACRE" run --json -w ws 'cat file | sort; ls' | jq -c '[.executed[].argv] | sort')" '[["bash","-c","--","cat file | sort; ls"],["cat","file"],["ls"],["sort"]]'
wait_until 10 ready 1
is 'one alone' "$("$NACRE" run --json -w ws 'ls -a' | jq -c '.executed')" '[{"argv":["ls","-a"],"exit_code":0}]'

# Texts that could tell the difference get a bash of their own.
used=$(figure used)
nacre run -w ws 'set -x; true'
is 'a trace is as deep as ever' "$err" '+ true'
is 'and that was none of the pool' "$(figure used)" "$used"

# Undo, verdict and record.
wait_until 10 ready 1
id=$("$NACRE" run --json -w ws 'echo more > new' | jq -r .correlation_id)
is 'its changes are real' "$(cat ws/new)" more
check 'and are undone' "$NACRE" undo "$id"
refute 'they are' test -e ws/new
like 'it is in the ledger' "$("$NACRE" history "$id")" '*echo more > new*'
check 'which is whole' "$NACRE" verify

# What the last run was shown is begun before the text is judged; what is another since then counts.
warm() { wait_until 10 ready 1 && "$NACRE" run -w ws "$1" 2>&1; }
warm true
echo theirs > ws/.envrc
like 'what is protected since is' "$(warm 'exec 2>&1; echo ours > .envrc; cat .envrc')" '*.envrc: Read-only file system*theirs'
is 'and stays' "$(cat ws/.envrc)" theirs
rm ws/.envrc
like 'what is protected no more, comes with the changes' "$(warm 'cat .envrc; ls -A')" '*No such file*'
mkdir ws/fresh
is 'what is new is seen' "$(warm 'ls -d fresh; echo content > fresh/file')" fresh
is 'and written to' "$(cat ws/fresh/file)" content
mv ws moved && cp -a moved ws
is 'another directory of the same name' "$(warm 'rm -r fresh; ls -d fresh 2> /dev/null || echo gone')" gone
check 'is not the one before' test -e moved/fresh/file
rm -r moved
wait_until 10 ready 1
nacre run -w ws 'echo (('
exits 'one that is refused' 126
check 'leaves no layer' wait_until 10 eval '! ls "$XDG_STATE_HOME"/nacre/store/*/pending/* 2> /dev/null'
is 'and the next one runs' "$(warm 'echo next')" next

# The client's end is the end of its run.
tag=$(unique)
"$NACRE" run -w ws "sleep $tag" > /dev/null 2>&1 < /dev/null &
client=$!
check 'it runs' wait_until 5 alive "sleep $tag"
kill -KILL "$client"
is_gone 'a client that is killed takes it along' "sleep $tag"
tag=$(unique)
"$NACRE" run -w ws "echo begun; sleep $tag" > "$scratch/out" 2> /dev/null < /dev/null &
client=$!
wait_until 5 grep -q begun "$scratch/out"
kill -TERM "$client"
wait "$client"
is 'one that is told to end does so' "$?" 143
is_gone 'with what it ran' "sleep $tag"

# The daemon's end.
tag=$(unique)
"$NACRE" run -w ws "echo begun; sleep $tag" > "$scratch/out" 2> "$scratch/client-err" < /dev/null &
client=$!
wait_until 5 grep -q begun "$scratch/out"
check 'it is stopped' "$NACRE" daemon --stop
check 'and gone' wait_until 5 over
wait "$client"
is_gone 'its runs are gone' "sleep $tag"
refute 'so is its socket' test -e "$XDG_STATE_HOME/nacre/daemon/socket"
nacre run -w ws 'echo alone'
prints 'runs do without it' alone
is 'nothing of its pool is left' "$(pgrep -c -P "$daemon")" 0

begin --pool 2
nacre run -w ws true
wait_until 10 ready 2
tag=$(unique)
"$NACRE" run -w ws "echo begun; sleep $tag" > "$scratch/out" 2> "$scratch/client-err" < /dev/null &
client=$!
wait_until 5 grep -q begun "$scratch/out"
boxes=$(pgrep -P "$daemon" | wc -l)
check 'control: it has sandboxes' test "$boxes" -ge 2
children=$(pgrep -P "$daemon" | tr '\n' ' ')
kill -KILL "$daemon"
wait "$client"
is 'a daemon that is killed: its client says so' "$? $(grep -c 'the daemon died' "$scratch/client-err")" '125 1'
is_gone 'its runs die' "sleep $tag"
none_left() { local p; for p in $children; do [ -d "/proc/$p" ] && ! grep -q '^State:.Z' "/proc/$p/status" && return 1; done; return 0; }
check 'and its sandboxes' wait_until 5 none_left
nacre run -w ws 'echo alone'
prints 'a socket that a dead one left is in nobodys way' alone
like 'the run that was cut off is told' "$("$NACRE" history)" "*cut off*sleep $tag*"
begin --idle 1s
check 'another one begins, and ends when nobody asks' wait_until 10 over

# A run that says nothing is not begun anew by the client when the daemon dies.
begin --pool 2
tag=$(unique)
"$NACRE" run -w ws "sleep $tag" > /dev/null 2> "$scratch/client-err" < /dev/null &
client=$!
wait_until 5 alive "sleep $tag"
kill -KILL "$daemon"
wait "$client"
is 'a silent run is not run twice' "$? $(grep -c 'the daemon died' "$scratch/client-err")" '125 1'
is_gone 'nor is anything of it left' "sleep $tag"

# What could be read by the bash that waits, or its loader, is not read ahead: such runs are never warm.
begin --pool 2
for variable in BASH_ENV LD_PRELOAD LD_LIBRARY_PATH ENV; do
    printf 'workspace: ro\nenv: {set: {%s: "%s"}}\n' "$variable" "$PWD/ws/file" > "$scratch/env.yaml"
    nacre run -w ws --config "$scratch/env.yaml" true
    sleep 0.2
    nacre run -w ws --config "$scratch/env.yaml" true
done
is 'variables that make it read files' "$(figure used) $(figure built)" '0 0'
printf 'workspace: ro\n' > "$scratch/ro.yaml"
nacre run -w ws --config "$scratch/ro.yaml" 'cat file; pwd'
wait_until 10 ready 2
nacre run -w ws --config "$scratch/ro.yaml" 'cat two 2> /dev/null; pwd; touch x 2>&1; [ -e x ] || echo none'
like 'a workspace that is only read is warm, too' "$out" "$PWD/ws*Read-only file system*none"
is 'it was' "$(figure used)" 1
# Lower limits, and other namespaces, are kept by going without.
used=$(figure used)
(ulimit -f 12345 && "$NACRE" run -w ws --config "$scratch/ro.yaml" 'ulimit -f') > "$scratch/limit" 2>&1
is 'a lower limit of the caller holds' "$(cat "$scratch/limit") $(figure used)" "12345 $used"
unshare -rn "$NACRE" run -w ws --config "$scratch/ro.yaml" true > /dev/null 2>&1
is 'one from another namespace is not served' "$(figure used)" "$used"
"$NACRE" daemon --stop

# Attackers: the socket and its directory are the owner's alone, and not there from inside.
begin --pool 2
is 'the directory is closed' "$(stat -c %a "$XDG_STATE_HOME/nacre/daemon")" 700
nacre run -w ws "ls $XDG_STATE_HOME/nacre/daemon 2>&1; find / -name socket -path '*daemon*' 2> /dev/null; cat /proc/net/unix | grep -c daemon"
like 'from inside there is none' "$out" '*No such file*0'
"$NACRE" daemon --stop
chmod 755 "$XDG_STATE_HOME/nacre/daemon"
nacre run -w ws 'echo alone'
prints 'a directory that others may enter is not used' alone
nacre daemon
complains 'nor served from' 1 "nacre: daemon: '*' is open to others, or not yours"

done_testing

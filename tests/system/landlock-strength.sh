#!/usr/bin/env bash
# Where there are no user namespaces: full strength refuses, and `strength: landlock` runs with what
# Landlock, the filter of system calls and the limits can keep. Its own list of attacks.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

umask 022
here=$PWD
me=$(id -u)
secret="secret-$(unique)"

# A namespace that can have no other below it is a system without them. What runs there is nobody's
# root; to the kernel it is who we are, so that our own files and processes are what it could harm. Its
# number there is one that nobody else has, since places in /tmp are named by it.
inner=$((20000 + me))
cat > "$scratch/none" << END
#!/bin/sh
exec unshare -Ur sh -c 'echo 1 > /proc/sys/user/max_user_namespaces || exit 99
exec unshare -U --map-user=$inner --map-group=$inner "\$@"' none "\$@"
END
chmod 755 "$scratch" "$scratch/none"
if ! "$scratch/none" true; then
    skip 'landlock strength' 'a namespace without namespaces cannot be made here'
    done_testing
fi
printf '#!/bin/sh\nexec "%s" "%s" "$@"\n' "$scratch/none" "$NACRE" > "$scratch/nacre"
chmod 755 "$scratch/nacre"
export NACRE=$scratch/nacre

mkdir -p ws beside home/.ssh
echo "$secret" > beside/file
echo "$secret" > home/.ssh/id_rsa
echo "$secret" > home/file
cp "$TOOLS/attack" "$TOOLS/attack_files" "$TOOLS/attack_bomb" "$TOOLS/works" ws/
export HOME=$here/home
printf 'strength: landlock\n' > "$scratch/weak.yaml"
weak() { nacre run -w ws --config "$scratch/weak.yaml" "$@"; }
json() { nacre run -w ws --json --config "$scratch/weak.yaml" "$@"; }
says() { # NAME FILTER: of jq, true of the result
    if jq -e "$2" "$scratch/out" > /dev/null 2>&1; then ok "$1"; else
        not_ok "$1" "not true: $2" "$(head -c 900 "$scratch/out")" "$(head -c 300 "$scratch/err")"
    fi
}

# --- who gets it ----------------------------------------------------------------------------------------------

nacre run -w ws 'touch ran'
complains 'full strength, the default, is refused' 125 'nacre: cannot build the sandbox: *'
like 'with the remedy' "$err" '*max_user_namespaces*'
printf 'strength: full\n' > "$scratch/full.yaml"
nacre run -w ws --config "$scratch/full.yaml" 'touch ran'
exits 'also where it is asked for' 125
check 'and nothing ran' test ! -e ws/ran
XDG_STATE_HOME=$here/ws/state nacre run -w ws --config "$scratch/weak.yaml" 'cat state/nacre/ledger/key; touch ran'
exits 'a ledger in reach, which nothing could hide, is refused' 125
like 'with the reason' "$err" 'nacre: *ledger*in reach*'
check 'and nothing ran then' test ! -e ws/ran
chmod -R u+rwx ws/state 2> /dev/null
rm -rf ws/state
json 'echo inside; pwd'
says 'strength: landlock runs' '.status == "ok" and .stdout == "inside\n'"$here"'/ws\n"'
says 'the result says which strength it was' '.strength == "landlock"'
says 'and warns of what is lost' '.warnings | any(test("landlock strength")) and any(test("namespaces"))'
weak 'echo inside'
is 'without --json, too' "$out$code" inside0
like 'with the warnings on standard error' "$err" '*nacre: warning: landlock strength: *'
mkdir -p ws/.nacre
printf 'strength: landlock\n' > ws/.nacre/config.yaml
nacre run -w ws 'touch ran'
exits 'a project cannot ask for it by itself' 125
rm -r ws/.nacre
"$JUDGE" run -w ws --json --config "$scratch/weak.yaml" 'pwd' > "$scratch/out" 2> "$scratch/err"
says 'where there are namespaces, full strength is what it gets' '.strength == "full" and .status == "ok"'

# --- what works -----------------------------------------------------------------------------------------------

weak 'echo made > made && cat made && rm made && mkdir -p a/b && mv a c && rm -r c && echo fine'
is 'the workspace can be written' "$out" $'made\nfine'
weak 'f=$(mktemp) && echo x > "$f" && cat "$f" && echo y > "$HOME/y" && cat ~/y "$TMPDIR/y"; [ "$HOME" = "$TMPDIR" ] || echo apart'
like 'there is a scratch place' "$out" $'x\ny*'
weak $'cat << EOF\nhere\nEOF\ncat <(echo sub); echo a | sed s/a/b/ | cat; x=$(echo c); echo $x > /dev/stdout; cat /dev/null'
is 'here-documents, substitutions and pipes' "$out" $'here\nsub\nb\nc'
weak 'printf "int main(void) { return 7; }\n" > m.c && gcc m.c -o m; ./m; echo $?; rm -f m m.c; python3 -c "print(6*7)"; perl -e "print 1, chr 10"; git --version | cut -c1-3; ls / > /dev/null; ps > /dev/null; id -u > /dev/null; echo end'
is 'compilers and interpreters' "$out" $'7\n42\n1\ngit\nend'
weak 'git init -q . && git -c user.name=a -c user.email=b commit -q --allow-empty -m m && git log --format=%s; rm -rf .git'
is 'git' "$out" m
if [ -x /usr/bin/node ]; then
    weak 'node -p 6*7'
    is 'node' "$out" 42
fi
for work in flock inotify sparse events limits 'threads 20'; do
    weak "./works $work"
    is "$work" "$out" fine
done
echo input | { weak 'cat'; is 'standard input' "$out" input; }
weak 'exit 9'
exits 'exit codes' 9
weak 'kill -SEGV $$'
exits 'signals' 139
{
    printf ': %0200000d\n' 0
    echo 'echo long'
} > "$scratch/long"
weak - < "$scratch/long"
is 'a text of 200 KB' "$out" long
mkdir ref out
echo shown > ref/file
weak --read-path "$here/ref" --write-path "$here/out" "cat $here/ref/file; echo x > $here/ref/harm; echo written > $here/out/f"
is 'paths that are listed: read' "$out$(ls ref)" shownfile
is_file 'and write' out/f $'written\n'

# --- files ------------------------------------------------------------------------------------------------------

weak "cat $HOME/file $HOME/.ssh/id_rsa $here/beside/file ../beside/file /proc/self/root$here/beside/file /proc/self/cwd/../beside/file /etc/shadow /root/.bashrc; ls $HOME $here $here/beside /root; cd ..; cat beside/file; echo looked"
unlike 'nothing of the home or beside the workspace is read' "$out$err" "*$secret*"
unlike 'nor listed' "$out" '*id_rsa*'
like 'control: it looked' "$out" '*looked'
like 'control: /etc/shadow is not read' "$err" '*/etc/shadow*denied*'
mkdir "$scratch/others"
echo "$secret" > "$scratch/others/open"
chmod 777 "$scratch/others"
chmod 666 "$scratch/others/open"
tmp=$(mktemp /tmp/nacre-test-open.XXXXXX)
echo "$secret" > "$tmp"
chmod 666 "$tmp"
weak "cat $scratch/others/open $tmp; ls /tmp $scratch; for f in $scratch/others/open $tmp; do ./attack_files read-ways \$f spare; done; ls -A /home/*; cat /var/log/* /run/*; true"
unlike 'nor are files that anybody may read' "$out$err" "*$secret*"
ln -s "$here/beside/file" ws/link
ln "$here/beside/file" ws/hard 2> /dev/null
weak 'cat link; cp link copy; ln link hard2; cat copy hard2; rm -f link copy hard hard2'
unlike 'a link leads nowhere' "$(sed '/^secret/d' <<< "$out")" "*$secret*"
rm -f ws/link ws/hard
before=$(find beside home "$scratch/others" "$tmp" -type f -printf '%p %s\n' -exec cat {} \; | sort)
weak "for d in $here $here/beside $HOME $scratch/others /tmp /var/tmp /dev/shm /run /etc /usr/local/bin; do echo harm > \$d/nacre-harm; mkdir \$d/nacre-harm.d; ln -s x \$d/nacre-harm.l; ln works \$d/nacre-harm.h; mv works \$d/nacre-harm.m; done; for f in $here/beside/file $HOME/file $tmp $scratch/others/open; do ./attack_files write-ways \$f spare; echo harm > \$f; rm -f \$f; mv \$f gone; truncate -s 0 \$f; done; true"
is 'nothing outside is written, replaced or removed' "$(find beside home "$scratch/others" "$tmp" -type f -printf '%p %s\n' -exec cat {} \; | sort)" "$before"
is 'or made' "$(find "$here" "$scratch" /tmp /var/tmp /dev/shm /run /etc /usr/local/bin -maxdepth 2 -name 'nacre-harm*' 2> /dev/null)" ''
check 'control: the workspace is what it was' test -x ws/works
rm -f "$tmp" ws/spare ws/gone
weak 'echo 0 > /proc/sys/kernel/ostype; echo 1000 > /proc/self/oom_score_adj; echo x > /dev/kmsg; mknod n b 8 0; mount -t tmpfs x .; unshare -r true; unshare -m true; chroot . /works; echo looked'
like 'no namespace, mount, root or device of its own' "$out" '*looked'
check 'no node was made' test ! -e ws/n
printf 'workspace: ro\nstrength: landlock\n' > "$scratch/ro.yaml"
nacre run -w ws --config "$scratch/ro.yaml" 'echo harm > harm; rm works; cat /dev/null && echo read'
is 'workspace: ro' "$out$(find ws -name harm -o -name works)" readws/works

# --- sockets ----------------------------------------------------------------------------------------------------

: > "$scratch/log"
servers=()
"$TOOLS/listen" "$scratch/tcp" "$scratch/log" tcp &
servers+=($!)
"$TOOLS/listen" "$scratch/udp" "$scratch/log" udp &
servers+=($!)
"$TOOLS/listen" "$scratch/unix-ready" "$scratch/log" unix "$here/ws/sock" &
servers+=($!)
"$TOOLS/listen" "$scratch/abstract-ready" "$scratch/log" abstract "nacre-$secret" &
servers+=($!)
wait_until 10 test -s "$scratch/tcp" -a -s "$scratch/udp" -a -s "$scratch/unix-ready" -a -s "$scratch/abstract-ready"
like 'control: from outside they are reached' "$("$TOOLS/attack" connect tcp "$(cat "$scratch/tcp")")" 'GOT*'
wait_until 5 test -s "$scratch/log"
sleep 0.2
: > "$scratch/log"
weak "./attack connect tcp $(cat "$scratch/tcp"); ./attack connect udp $(cat "$scratch/udp"); ./attack connect unix $here/ws/sock; ./attack connect unix sock; ./attack connect abstract nacre-$secret; ./attack families; exec 2>/dev/null; echo x > /dev/tcp/127.0.0.1/$(cat "$scratch/tcp"); echo x > /dev/udp/127.0.0.1/$(cat "$scratch/udp"); true"
is 'no socket of any kind reaches the host' "$(grep GOT <<< "$out")" ''
like 'control: all were tried' "$out" '*done*done*done*done*done*done*'
sleep 0.3
is 'nobody was reached' "$(cat "$scratch/log")" ''
kill "${servers[@]}"
rm -f ws/sock
weak --network on 'true'
like 'network: on is warned of here, too' "$err" '*network*'

# --- other processes ----------------------------------------------------------------------------------------------

tag=$(unique)
sleep "$tag" &
victim=$!
check 'control: outside a process may signal it' kill -0 "$victim"
abi=$(jq -r '.landlock // 0' <<< "$("$JUDGE" status --json)")
if [ "${abi:-0}" -ge 6 ]; then
    weak "./attack signal $victim; kill -TERM $victim; kill -KILL $victim; kill -STOP $victim; true"
    check 'signals to processes outside are refused' kill -0 "$victim"
    is 'it is not stopped either' "$(ps -o stat= -p "$victim" | cut -c1)" S
fi
# How many descriptors they have can be seen, like much of /proc; not where these lead.
weak "./attack trace $victim; grep -c HOME /proc/$victim/environ; for f in cwd exe root fd/0 fd/1; do readlink /proc/$victim/\$f && echo GOT it; done; cat /proc/$victim/maps /proc/$victim/fd/1; true"
is 'nor can they be traced, or their memory, variables and descriptors be had' "$(grep GOT <<< "$out" | grep -vx "GOT /proc/$victim/fd")" ''
check 'it lives' kill -0 "$victim"
weak 'kill -KILL -1; echo after'
check 'kill -1 kills nobody outside' kill -0 "$victim"
kill "$victim"
SECRET_OF_OURS=$secret weak 'env; cat /proc/self/environ /proc/$PPID/environ | tr "\0" "\n"; ls -l /proc/self/fd | grep -v -e pipe -e null -e "/proc/" | tail -n +2; true'
unlike 'nothing of our environment is passed' "$out" "*$secret*"
"$TOOLS/attack" ipc-hold 4711 "$scratch/held" > /dev/null 2>&1 &
holder=$!
wait_until 5 test -s "$scratch/held" || true
weak './attack ipc-look 4711; ipcs 2>/dev/null | grep -c 4711'
unlike 'shared memory and queues of the host are out of reach' "$out" '*GOT*'
kill "$holder" 2> /dev/null
wait "$holder" 2> /dev/null

# --- limits -------------------------------------------------------------------------------------------------------

json --limit cpu=1s --timeout 15s 'while :; do :; done'
says 'cpu' '.status == "limit" and .limit.name == "cpu" and .exit_code == 137'
json --limit memory=64MB --timeout 15s 'python3 -c "
x = []
while True: x.append(bytearray(1 << 20))"'
says 'memory' '.status == "limit" and .limit.name == "memory"'
json --limit memory=64MB --timeout 15s 'python3 -c "
import os
fd = os.memfd_create(\"x\")
while True: os.write(fd, bytes(1 << 20))"'
says 'memory that has no name' '.status != "ok" and .status != "timeout"'
json --limit disk=20MB --timeout 15s 'head -c 200M /dev/zero > fill; sleep 3; echo after'
says 'disk' '.status == "limit" and .limit.name == "disk"'
rm -f ws/fill
json --limit disk=20MB --timeout 15s 'head -c 200M /dev/zero > ~/fill; sleep 3; echo after'
says 'disk in the scratch place' '.status == "limit"'
json --timeout 1s 'echo begun; sleep 60'
says 'time' '.status == "timeout" and .exit_code == 124 and .stdout == "begun\n"'
json --limit files=20 'ulimit -n; ./attack_bomb files 500'
says 'files' '.stdout | startswith("20\n") and (split("made ")[1] | tonumber) <= 20'
json --limit processes=4 --timeout 15s './attack_bomb fork session 60'
says 'processes' '(.stdout | split("made ")[1] | tonumber) as $n | $n >= 1 and $n <= 4'
json --limit processes=5 'for i in {1..60}; do /bin/true; done; echo all'
says 'control: one after the other there can be many' '.stdout == "all\n" and .stderr == ""'
json --limit output=10KB 'head -c 100000 /dev/zero'
says 'output' '.stdout_truncated and .stdout_bytes == 100000'
json 'sleep 0.2'
says 'what was used is told' '.resource_usage.memory_peak_bytes > 100000 and .resource_usage.processes_peak >= 1'

# --- nothing survives -----------------------------------------------------------------------------------------------

survives() { # NAME TEXT: with TAG for a word that only its processes have
    local tag
    tag=$(unique)
    weak --timeout 20s "${2//TAG/$tag}"
    if dead "$tag"; then ok "$1: nothing is left"; else
        not_ok "$1: nothing is left" "$(pgrep -af -- "$tag")"
        pgrep -f -- "$tag" | xargs -r kill -KILL
    fi
    is "$1: the command's own end" "$code" "${3:-0}"
}
survives 'a background process' 'sleep TAG & true'
survives 'setsid' 'setsid sleep TAG & sleep 0.1; true'
survives 'a double fork' '( (setsid setsid sleep TAG &) & ); sleep 0.1'
survives 'one that ignores signals' './attack stubborn 9999 TAG & setsid ./attack stubborn 9999 TAG & sleep 0.2; exit 5' 5
survives 'stopped ones' 'sleep TAG & kill -STOP $!; ( (sleep TAG &) & ); true'
survives 'one that its parent killed itself over' '(setsid bash -c "sleep TAG & sleep TAG" &) ; sleep 0.1; kill -9 $$' 137

# Starts a stubborn tree; sets $pid (nacre) and $tag.
start() {
    tag=$(unique)
    "$NACRE" run -w ws --config "$scratch/weak.yaml" --timeout 300s \
        "./attack stubborn 9999 $tag & (setsid ./attack stubborn 9999 $tag &); ( (setsid sleep $tag &) & ); echo x > ~/left; sleep $tag" \
        > "$scratch/run-out" 2>&1 &
    pid=$!
    wait_until 8 started || not_ok 'the tree is up' "$(cat "$scratch/run-out")"
}
# shellcheck disable=SC2317 # called by wait_until
started() { [ "$(pgrep -c -f "(stubborn 9999|sleep) $tag")" -ge 4 ]; }
start
kill -KILL "$pid"
wait "$pid" 2> /dev/null
is_gone 'nacre killed: everything dies soon' "$tag"
start
guard=$(pgrep -P "$pid")
kill -KILL "$guard"
wait "$pid" 2> /dev/null
is 'the guard killed: nacre says that it failed' "$?" 125
is_gone 'and everything dies' "$tag"
start
kill -TERM "$pid"
wait "$pid"
is 'SIGTERM: exit code' "$?" 143
is_gone 'SIGTERM: everything dies' "$tag"

# --- the scratch place ------------------------------------------------------------------------------------------------

weak 'echo "$HOME"; mkdir -p ~/a/b; echo x > ~/a/b/c; chmod 0 ~/a/b; ln -s / ~/root; true'
dir=$out
like 'it is in /tmp, and of one run' "$dir" '/tmp/.nacre-scratch-*'
check 'it is gone with the run' test ! -e "$dir"
left=''
for place in /tmp/.nacre-scratch-*; do
    maker=${place#*scratch-}
    if [ -O "$place" ] && [ ! -d "/proc/${maker%%-*}" ]; then left+="$place "; fi
done
is 'and so is what the killed ones had left' "$left" ''
"$NACRE" run -w ws --config "$scratch/weak.yaml" "echo $secret > ~/mine; sleep 1" > /dev/null 2>&1 &
wait_until 5 eval 'ls /tmp/.nacre-scratch-*/mine > /dev/null 2>&1'
weak 'cat /tmp/.nacre-scratch-*/mine; for d in /tmp/.nacre-scratch-*; do cat $d/mine; ls $d; done; true'
unlike 'two runs do not see the scratch of each other' "$out$err" "*$secret*"
wait

# --- what it cannot do is refused ---------------------------------------------------------------------------------------

echo "$secret" > ws/.env
mkdir ws/hooks
printf 'strength: landlock\npaths: {hide: [.env]}\n' > "$scratch/hide.yaml"
nacre run -w ws --config "$scratch/hide.yaml" 'cat .env'
exits 'hide: refused' 125
unlike 'and nothing is read' "$out" "*$secret*"
like 'with the reason' "$err" '*landlock*'
printf 'strength: landlock\npaths: {protect: [hooks]}\n' > "$scratch/protect.yaml"
nacre run -w ws --config "$scratch/protect.yaml" 'touch ran'
exits 'protect: refused' 125
nacre run --workspace :memory: --config "$scratch/weak.yaml" 'echo ran'
exits 'a workspace in memory: refused' 125
check 'nothing ran' test ! -e ws/ran

# --- started by root ------------------------------------------------------------------------------------------------

cat > "$scratch/root-of" << END
echo 0 > /proc/sys/user/max_user_namespaces || exit 99
"$scratch/real" run -w "$here/ws" --config "$scratch/weak.yaml" 'touch ran; id -u'
END
cp "$(sed -n 's/^exec "[^"]*" "\([^"]*\)".*/\1/p' "$NACRE")" "$scratch/real"
cp "$NACRE_LAUNCH" "$scratch/nacre-launch"
unshare -Ur sh "$scratch/root-of" > "$scratch/out" 2> "$scratch/err"
is 'the root of a namespace of one id is refused' "$?$(cat "$scratch/out")" 125
check 'and nothing ran for it' test ! -e ws/ran

# Somebody who is root, with everybody's ids, where no further namespaces can be made.
cat > "$scratch/everybody.py" << 'END'
import ctypes, os, sys
ready, go = os.pipe(), os.pipe()
pid = os.fork()
if pid == 0:
    if ctypes.CDLL(None).unshare(0x10000000) != 0:
        os._exit(99)
    os.write(ready[1], b"x")
    os.read(go[0], 1)
    os.execvp(sys.argv[1], sys.argv[1:])
os.read(ready[0], 1)
for name in "uid_map", "gid_map":
    with open("/proc/%d/%s" % (pid, name), "w") as f:
        f.write("0 0 65536\n")
os.write(go[1], b"x")
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
END
as_root() { # WORKSPACE TEXT
    cat > "$scratch/root-of" << END
echo 0 > /proc/sys/user/max_user_namespaces || exit 99
"$scratch/real" run -w "$1" --json --config "$scratch/weak.yaml" '$2'
END
    python3 "$scratch/everybody.py" unshare -m sh "$scratch/root-of" > "$scratch/out" 2> "$scratch/err"
    code=$?
}
if [ "$me" = 0 ]; then
    chmod 755 .
    mkdir theirs
    chown "$TEST_USER" theirs
    as_root "$here/theirs" 'id -u; echo made > made; cat /etc/shadow; grep CapEff /proc/self/status; kill -0 1 && echo GOT'
    says "root in a user's workspace: the command is that user" '.strength == "landlock" and (.stdout | startswith("'"$(id -u "$TEST_USER")"'\n"))'
    says 'without a capability, and without the rights of root' '(.stdout | contains("CapEff:\t0000000000000000")) and (.stdout | test("GOT|root:") | not)'
    is 'what it makes belongs to the user' "$(stat -c %U theirs/made 2>&1)" "$TEST_USER"
    as_root "$here/ws" 'touch ran'
    is "root in a workspace of root's own: refused" "$code$(ls ws/ran 2> /dev/null)" 125
    check 'nothing is left of these' test ! -e /tmp/nacre-0
fi

# --- what there is no namespace for ---------------------------------------------------------------------------

cat > ws/host.py << 'END'
import ctypes, os, resource, sys
libc = ctypes.CDLL(None, use_errno=True)
libc.shmat.restype = ctypes.c_void_p
victim, outside, attack = int(sys.argv[1]), sys.argv[2], sys.argv[3]
done = []
def parents():
    pid = os.getpid()
    while pid > 1:
        pid = int(open("/proc/%d/stat" % pid).read().rsplit(")", 1)[1].split()[1])
        yield pid
def attempt(name, call):
    try:
        if call() not in (-1, 2**64 - 1):
            done.append(name)
    except OSError:
        pass
def limits(pid, which):
    return lambda: resource.prlimit(pid, which, (1, 1)) and 0
if attack == "host":
    for which in (resource.RLIMIT_CPU, resource.RLIMIT_NOFILE, resource.RLIMIT_FSIZE):
        attempt("limit", limits(victim, which))
    attempt("nice", lambda: libc.setpriority(0, victim, 15))
    attempt("group", lambda: libc.setpriority(1, os.getpgid(victim), 15))
    attempt("scheduler", lambda: libc.sched_setscheduler(victim, 5, ctypes.byref(ctypes.c_int(0))))
    attempt("affinity", lambda: libc.sched_setaffinity(victim, 8, ctypes.byref(ctypes.c_ulong(1))))
    attempt("io", lambda: libc.syscall(251, 1, victim, 3 << 13))
    for i in range(200):
        attempt("memory", lambda: libc.shmat(i, None, 0))
        attempt("removal", lambda: libc.shmctl(i, 0, None))
        attempt("semaphore", lambda: libc.semctl(i, 0, 0, 0))
        attempt("message", lambda: libc.msgctl(i, 0, None))
    attempt("queue", lambda: libc.mq_open(b"/nacre-left", 0o102, 0o600, None))
    attempt("unlink", lambda: libc.mq_unlink(b"/nacre-left"))
    attempt("attribute", lambda: libc.setxattr(outside.encode(), b"user.harm", b"1", 1, 0))
    attempt("acl", lambda: libc.removexattr(outside.encode(), b"user.kept"))
    print("done", done)
elif attack == "guard":
    for pid in parents():
        for which in (resource.RLIMIT_NOFILE, resource.RLIMIT_CPU, resource.RLIMIT_AS):
            attempt("guard", limits(pid, which))
    held = bytearray(200 << 20)
    import time
    time.sleep(2)
    print("held", len(held))
elif attack == "threads":
    import threading, time
    count = 0
    threading.stack_size(65536)
    try:
        while count < 20000:
            threading.Thread(target=lambda: time.sleep(20), daemon=True).start()
            count += 1
    except RuntimeError:
        pass
    print("threads", count, flush=True)
    os._exit(0)
elif attack == "deep":
    os.chdir(os.environ["TMPDIR"])
    for _ in range(3000):
        os.mkdir("d")
        os.chdir("d")
    print("deep")
END
sleep 300 &
victim=$!
segment=$(ipcmk -M 4096 | sed 's/.*: //')
weak "/usr/bin/python3 host.py $victim $here/beside/file host"
is 'no limit, priority, memory, queue or attribute of the host is changed' "$out" 'done []'
check 'its segment is still there' ipcrm -m "$segment"
check 'its process, too' kill "$victim"
json --limit memory=64MB --timeout 20s "/usr/bin/python3 host.py $$ x guard; echo lived"
says 'the guard keeps its limits' '.status == "limit" and .limit.name == "memory"'
json --limit processes=5 --timeout 20s '/usr/bin/python3 host.py 0 x threads'
says 'threads have a bound' '.status == "ok" and (.stdout | ltrimstr("threads ") | tonumber < 1000)'
weak '/usr/bin/python3 host.py 0 x deep'
is 'a deep tree in scratch' "$out" deep
is 'is gone with the run' "$(find /tmp -maxdepth 1 -name ".nacre-scratch-*" -user "$me" 2> /dev/null)" ''

# A script lies in the run's private directory.
printf 'import sys; print("script", sys.argv[1])\n' > "$scratch/s.py"
nacre script -w ws --config "$scratch/weak.yaml" "$scratch/s.py" one
is 'a script runs' "$out" 'script one'
printf 'int main(void) { return 42; }\n' > "$scratch/s.c"
nacre script -w ws --config "$scratch/weak.yaml" "$scratch/s.c"
exits 'one that is built, too' 42
is 'and nothing of it is left' "$(find ws -name 'synth-*')" ''

done_testing

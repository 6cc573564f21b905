#!/usr/bin/env bash
# Ordinary tools do their ordinary work inside, with the limits that everybody has.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

here=$PWD
# A bare name must mean the system's: what the caller has in his home is another test's.
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
have() { [ -x "/usr/bin/$1" ]; }
cp "$TOOLS/works" .

# --- compilers and builds ---------------------------------------------------------------------

mkdir build
cat > build/Makefile << 'END'
program: main.o part.o
	$(CC) $^ -o $@
%.o: %.c
	$(CC) -O2 -g -c $< -o $@
test: program
	./program | grep -qx 'six times seven is 42'
	@echo tested in $$(basename $(CURDIR))
END
printf '#include <stdio.h>\nint part(int);\nint main(void) { printf("six times seven is %%d\\n", part(6)); return 0; }\n' > build/main.c
printf 'int part(int n) { return 7 * n; }\n' > build/part.c
nacre run -w build 'make -s test'
prints 'make and gcc build a program, and it runs' 'tested in build'
nacre run -w build 'make -s clean 2>/dev/null; rm -f *.o program; make -s -j2 test'
prints 'make -j2 too' 'tested in build'
# gcc, collect2, ld, lto-wrapper, gcc again and lto1 are six at once.
nacre run -w build --limit processes=8 'gcc -flto -O2 main.c part.c -o lto && ./lto && g++ -x c++ -fsyntax-only part.c'
prints 'link-time optimization and C++' 'six times seven is 42'
nacre run -w build 'make -s -j8 -B program && ar rcs lib.a part.o && nm lib.a | grep -c part'
exits 'make -j8, which asks for more processes than there may be, still ends' 0

# --- languages --------------------------------------------------------------------------------

nacre run 'perl -MPOSIX -MFile::Temp=tempfile -e '\''my ($f, $n) = tempfile(); print $f "x" x 1000; close $f; print -s $n, " ", strftime("%Y", gmtime(0)), "\n"'\'
prints 'perl' '1000 1970'

if have python3; then
    nacre run 'python3 -c "import ssl, sqlite3, ctypes, lzma, zoneinfo, asyncio, decimal; print(sqlite3.connect(\":memory:\").execute(\"select 6*7\").fetchone()[0])"'
    prints 'python3 and its parts in C' 42
    nacre run 'python3 -m venv --without-pip v && . v/bin/activate && python -c "import sys; print(sys.prefix != sys.base_prefix, sys.executable)"'
    prints 'a virtual environment' "True $here/v/bin/python"
    nacre run './v/bin/python -c "print(6 * 7)"'
    prints 'which the next run can use' 42
    nacre run 'python3 -c "
from multiprocessing import Process, Queue, Lock, Value, shared_memory
def work(q, name, lock, total):
    s = shared_memory.SharedMemory(name=name); s.buf[0] += 1; s.close()
    with lock: total.value += 5
    q.put(\"from the child\")
q, lock, total = Queue(), Lock(), Value(\"i\", 0)
s = shared_memory.SharedMemory(create=True, size=4096)
ps = [Process(target=work, args=(q, s.name, lock, total)) for _ in range(2)]
for p in ps: p.start(); p.join()
print(q.get(), s.buf[0], total.value); s.close(); s.unlink()"'
    # Its tracker of such memory outlives it, with or without us: that is warned of.
    is 'multiprocessing with queues, locks and shared memory' "$out" 'from the child 2 10'
    nacre run 'python3 -c "
from concurrent.futures import ThreadPoolExecutor, ProcessPoolExecutor
with ThreadPoolExecutor(16) as t, ProcessPoolExecutor(3) as p:
    print(sum(t.map(abs, range(-100, 0))), sum(p.map(abs, range(-100, 0))))"'
    prints 'pools of threads and of processes' '5050 5050'
    nacre run 'python3 -c "
import subprocess, os, signal, sys
print(subprocess.run([\"sh\", \"-c\", \"cat; exit 3\"], input=b\"in\", capture_output=True).stdout.decode(), end=\" \")
p = subprocess.Popen([\"sleep\", \"100\"], start_new_session=True)
os.killpg(p.pid, signal.SIGTERM); print(p.wait(), end=\" \")
pid, fd = os.forkpty()
if pid == 0: os.execlp(\"tty\", \"tty\")
print(os.read(fd, 100).decode().strip())"'
    like 'subprocess, process groups and a pseudo terminal' "$out" 'in -15 /dev/pts/*'
    nacre run 'python3 -m unittest -q 2>&1 | tail -1; python3 -m json.tool <<< "{\"a\": 1}" | head -1; python3 -m compileall -q v/bin > /dev/null; python3 -m zipfile -c z.zip works && python3 -m zipfile -l z.zip | grep -c works'
    like 'and its modules that are tools' "$out" '*{*1'
fi

if have node; then
    nacre run --limit processes=5 'node -e "console.log(6 * 7, require(\"os\").cpus().length > 0)"'
    prints 'node, whose threads are no processes, under a limit of 5' '42 true'
    nacre run --limit processes=5 'node -e "
const { Worker, isMainThread, parentPort } = require(\"worker_threads\")
let sum = 0, left = 4
for (let i = 0; i < 4; i++)
    new Worker(\"require(\\\"worker_threads\\\").parentPort.postMessage(\" + i + \")\", { eval: true })
        .on(\"message\", n => { sum += n; if (--left == 0) console.log(sum) })"'
    prints 'worker threads' 6
    nacre run 'node -e "
const { execFileSync, spawn, fork } = require(\"child_process\"), fs = require(\"fs\"), crypto = require(\"crypto\")
console.log(execFileSync(\"echo\", [\"from echo\"]).toString().trim())
crypto.pbkdf2(\"a\", \"b\", 1000, 8, \"sha256\", () => fs.readFile(\"works\", (e, d) => console.log(d.length > 1000)))
spawn(process.execPath, [\"-p\", \"1+1\"], { stdio: \"inherit\" })"'
    is 'child processes, the thread pool, one node in another' "$(sort <<< "$out")" $'2\nfrom echo\ntrue'
fi
if have node && command -v npm > /dev/null; then
    mkdir -p lib app
    echo '{ "name": "tiny", "version": "1.0.0", "main": "index.js", "bin": { "tiny": "index.js" } }' > lib/package.json
    printf '#!/usr/bin/env node\nmodule.exports = 42\nif (require.main === module) console.log("tiny runs")\n' > lib/index.js
    echo '{ "name": "app", "version": "1.0.0", "scripts": { "test": "node test.js && tiny" } }' > app/package.json
    echo 'console.log(require("tiny"))' > app/test.js
    nacre run 'cd lib && npm pack --silent --pack-destination ../app'
    prints 'npm pack' tiny-1.0.0.tgz
    nacre run -w app 'npm install --offline --silent --no-audit --no-fund ./tiny-1.0.0.tgz && npm test --silent'
    prints 'npm installs from a file and runs scripts, without a network' $'42\ntiny runs'
    check 'what it installed is in the workspace' test -f app/node_modules/tiny/index.js
fi

if have java && have javac; then
    printf 'public class Main { public static void main(String[] a) throws Exception { Thread t = new Thread(() -> System.out.println("thread")); t.start(); t.join(); System.out.println(6 * 7); } }\n' > Main.java
    nacre run 'javac Main.java && java -cp . Main'
    prints 'java and javac' $'thread\n42'
elif have java; then
    nacre run 'java -XshowSettings:vm -version 2>&1 | grep -c -i version'
    exits 'java starts' 0
fi
if have sqlite3; then
    nacre run 'sqlite3 data.db "pragma journal_mode=wal; create table t(x); insert into t values (41), (42); select max(x) from t"; sqlite3 data.db "select count(*) from t"'
    prints 'sqlite3 with a write-ahead log, which needs shared memory' $'wal\n42\n2'
fi
if have ruby; then
    nacre run 'ruby -rjson -e "puts [1, 2].to_json"'
    prints 'ruby' '[1,2]'
fi
# As it is found by the caller: below the home, which is shown with its toolchains.
cargo=$HOME/.cargo/bin/cargo
if [ -x "$cargo" ] || have cargo; then
    mkdir -p crate/src
    printf '[package]\nname = "crate"\nversion = "0.1.0"\nedition = "2021"\n' > crate/Cargo.toml
    printf 'fn main() { let t = std::thread::spawn(|| 42); println!("{}", t.join().unwrap()); }\n' > crate/src/main.rs
    PATH=$HOME/.cargo/bin:$PATH nacre run -w crate 'cargo --offline run -q'
    is 'cargo builds a crate without dependencies' "$out" 42
fi

# --- the shell and its files ------------------------------------------------------------------

echo input | {
    nacre run 'cat /dev/stdin; cat /dev/fd/3 3< <(echo three); cat <(echo sub) - <<< here; tee >(tr a-z A-Z > up) <<< text > /dev/null; wait; sleep 0.2; cat up'
    prints 'standard streams by name, substitutions, here-strings' $'input\nthree\nsub\nhere\nTEXT'
}
nacre run $'cat << EOF | tr a-z A-Z\n$(( 6 * 7 )) lines\nEOF\ncat <<- \'EOF\'\n\t$quoted\n\tEOF'
prints 'here-documents' $'42 LINES\n$quoted'
nacre run 'test -d "$TMPDIR" && test -w "$TMPDIR" && f=$(mktemp) && d=$(mktemp -d) && echo x > "$f" && touch "$d/y" && cat "$f" && ls "$d"'
prints 'TMPDIR and mktemp' $'x\ny'
nacre run 'mkfifo pipe && { echo through > pipe & cat pipe; rm pipe; }'
prints 'a FIFO' through
nacre run 'coproc cat; echo there >&"${COPROC[1]}"; read -r x <&"${COPROC[0]}"; echo "$x"; exec {COPROC[1]}>&-; wait'
prints 'a coprocess' there
nacre run 'f() { echo "$1"; }; export -f f; printf "%s\n" a b | xargs -I{} bash -c "f {}"; seq 3 | parallel echo 2>/dev/null; find . -maxdepth 1 -name works -exec basename {} \;'
like 'xargs, exported functions, find -exec' "$out" $'a\nb*works'
nacre run 'timeout 0.2 sleep 5; echo $?; nice -n 5 nice; nohup echo n 2>/dev/null; env -i /bin/echo e; stdbuf -oL echo s; setsid -w echo d'
prints 'timeout, nice, nohup, env, stdbuf, setsid' $'124\n5\nn\ne\ns\nd'

nacre run 'tty; test -t 0 || echo no terminal; ls --color=auto works; stty size 2>&1 | head -c 0; git --no-pager --version | cut -c1-11; echo paged | more | wc -c; top -bn1 | head -1 | cut -c1-3; tput cols 2>/dev/null | head -1; echo end'
like 'programs that look for a terminal do without' "$out" $'not a tty\nno terminal\nworks\ngit version\n6\ntop*end'

# --- files --------------------------------------------------------------------------------------

nacre run 'echo one > a; ln a b; echo two >> b; cat a; stat -c %h a; cp -al a c; stat -c %h c; rm -f a b c'
prints 'hard links' $'one\ntwo\n2\n3'
nacre run 'truncate -s 1G big; stat -c %s big; du -k big | cut -f1; cp --sparse=always big big2; du -k big2 | cut -f1; rm big big2'
prints 'sparse files' $'1073741824\n0\n0'
nacre run 'cp -a works w2 && cmp works w2 && touch -d 2001-02-03 w2 && stat -c %y w2 | cut -c1-10; mv w2 w3; install -m 755 w3 w4; chmod u+x,go= w4; stat -c %a w4; rm w3 w4; tar cf - works | tar tf -; mkdir -p deep/er; rsync --version > /dev/null 2>&1; rm -r deep'
prints 'copies with times and modes, tar' $'2001-02-03\n700\nworks'
nacre run 'echo x > "odd \"name\" \$é"; ls odd*; rm odd*; sed -i s/x/y/ nothing 2>/dev/null; echo a > s; sed -i s/a/b/ s; cat s; patch --version > /dev/null && printf "%s\n" "--- s" "+++ s" "@@ -1 +1 @@" "-b" "+c" | patch -s && cat s; rm s'
like 'odd names, sed -i, patch' "$out" $'odd "name" $é\nb*'
if have python3; then
    # Whether the file system has them at all is the host's affair.
    touch probe
    if python3 -c 'import os; os.setxattr("probe", "user.n", b"v")' 2> /dev/null; then
        nacre run 'python3 -c "import os; os.setxattr(\"probe\", \"user.m\", b\"w\"); print(sorted(os.listxattr(\"probe\")), os.getxattr(\"probe\", \"user.n\").decode()); os.removexattr(\"probe\", \"user.m\")"'
        prints 'extended attributes' "['user.m', 'user.n'] v"
    fi
fi
for work in flock inotify sparse; do
    nacre run "./works $work"
    prints "$work in the workspace" fine
    nacre run "cd /tmp && $here/works $work"
    prints "$work in /tmp" fine
done

# --- processes and what they share ----------------------------------------------------------------

for work in memfd sysv mqueue semaphore events limits pty 'threads 20'; do
    nacre run "./works $work"
    prints "$work" fine
done
nacre run 'sleep 100 & kill %1; wait %1; echo $?; jobs; sleep 0.1 & wait -n; echo $?; trap "echo usr" USR1; kill -USR1 $$'
prints 'jobs and signals' $'143\n0\nusr'
nacre run '{ ulimit -c; bash -c "kill -SEGV \$\$"; bash -c "ulimit -c unlimited; kill -ABRT \$\$"; ls core*; echo end; } 2>/dev/null'
prints 'crashes leave no core file' $'0\nend'
is 'nor does one lie outside' "$(find . -name 'core*')" ''

# --- sockets among themselves ---------------------------------------------------------------------

if have python3; then
    cat > talk.py << 'END'
import os, socket, sys
family = getattr(socket, sys.argv[1])
kind = getattr(socket, sys.argv[2])
address = ("127.0.0.1", 0) if family == socket.AF_INET else ("::1", 0) if family == socket.AF_INET6 else sys.argv[3].replace("@", "\0")
server = socket.socket(family, kind)
server.bind(address)
address = server.getsockname()
if kind == socket.SOCK_STREAM:
    server.listen(1)
if os.fork() == 0:
    client = socket.socket(family, kind)
    client.connect(address)
    client.send(b"hello")
    os._exit(0)
end = server.accept()[0] if kind == socket.SOCK_STREAM else server
print(end.recv(100).decode())
END
    for how in 'AF_INET SOCK_STREAM' 'AF_INET SOCK_DGRAM' 'AF_INET6 SOCK_STREAM' 'AF_UNIX SOCK_STREAM ./s' \
        'AF_UNIX SOCK_DGRAM /tmp/s' 'AF_UNIX SOCK_STREAM @name'; do
        nacre run --timeout 10s "python3 talk.py $how; rm -f s"
        prints "$how within the box" hello
    done
    nacre run --timeout 10s 'python3 -m http.server --bind 127.0.0.1 8000 > /dev/null 2>&1 &
for i in 1 2 3 4 5 6 7 8 9; do sleep 0.3; python3 -c "
import urllib.request
print(urllib.request.urlopen(\"http://localhost:8000/talk.py\").status)" 2> /dev/null && break; done; kill $!'
    is 'a web server and its client, by the name localhost' "$out" 200
fi

# --- what is known of the machine -----------------------------------------------------------------

nacre run 'ps -o comm= -p $$; ps aux | tail -n +2 | wc -l | awk "{ print (\$1 < 8) }"; top -bn1 | grep -c "^Tasks:"; pgrep -x bash; uptime > /dev/null && free -m | grep -c Mem; nproc | grep -c .'
prints 'ps, top, pgrep, uptime, free, nproc' $'bash\n1\n1\n2\n1\n1'
nacre run 'for f in cpuinfo meminfo stat loadavg uptime version filesystems self/status self/maps self/limits self/mountinfo self/fd sys/kernel/ostype sys/vm/overcommit_memory; do test -r /proc/$f || echo "no $f"; done; grep -c ^processor /proc/cpuinfo'
prints 'the usual files of /proc can be read' "$(grep -c ^processor /proc/cpuinfo)"
nacre run 'df -h . > /dev/null && mount | grep -c . > /dev/null && hostname && uname -s && id -un && getent passwd agent | cut -d: -f1 && getent hosts localhost | grep -c localhost && whoami && groups'
prints 'df, mount, hostname, id, getent' $'nacre\nLinux\nagent\nagent\n1\nagent\nagent'
nacre run 'TZ=Asia/Tokyo date -d @0 +%H:%M; TZ=America/New_York date -d @0 +%Z; date -d "2001-02-03 04:05" +%s > /dev/null && echo parsed'
prints 'time zones' $'09:00\nEST\nparsed'
TZ=Asia/Tokyo nacre run 'date -d @0 +%H:%M'
prints "the caller's, too" 09:00
nacre run 'locale charmap; printf "é" | wc -m; printf "%s\n" b a é | sort | tr "\n" " "; python3 -c "print(\"é\", ascii(input()))" <<< ü 2>/dev/null'
like 'text is UTF-8' "$out" $'UTF-8\n1\na b é é*xfc*'
nacre run 'openssl version > /dev/null 2>&1; openssl rand -hex 4 2>/dev/null | wc -c; sha256sum works | wc -w; gzip -c works | gunzip | cmp - works && echo same; xz -c works 2>/dev/null | xz -dc | cmp - works && echo same'
like 'random bytes, hashes, compression' "$out" $'*2\nsame*'
nacre run 'bash --version | head -1 | cut -c1-8; sh -c "echo dash"; awk "BEGIN { print 6 * 7 }"; bc <<< 6*7 2>/dev/null; jq -n "6*7"; diff <(echo a) <(echo b) | head -1; script -qc "echo inner" /dev/null 2>/dev/null | tr -d "\r"'
like 'sh, awk, jq, diff, script' "$out" $'GNU bash\ndash\n42\n*42\n1c1\ninner'

done_testing

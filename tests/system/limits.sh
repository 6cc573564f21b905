#!/usr/bin/env bash
# Runs alone.
# Every limit ends as it is documented: status, exit code, the `limit` object, warnings; and ordinary
# work below it is not disturbed.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

# Runs with a result in $scratch/out, while the host does small things: $slowest of them, in ms.
limited() {
    local pid start took
    "$NACRE" run --json --timeout 20s "$@" > "$scratch/out" 2> "$scratch/err" < /dev/null &
    pid=$!
    slowest=0
    while kill -0 "$pid" 2> /dev/null; do
        start=${EPOCHREALTIME/[.,]/}
        /bin/echo x > /dev/null
        took=$(((${EPOCHREALTIME/[.,]/} - start) / 1000))
        if [ "$took" -gt "$slowest" ]; then slowest=$took; fi
        sleep 0.05
    done
    wait "$pid"
    code=$?
    # shellcheck disable=SC2034 # for exits
    out=$(cat "$scratch/out") err=$(cat "$scratch/err")
}
says() { # NAME FILTER: of jq, true of the result
    if jq -e "$2" "$scratch/out" > /dev/null 2>&1; then ok "$1"; else
        not_ok "$1" "not true: $2" "$(jq -c 'del(.stdout) // .' "$scratch/out" 2>&1 | head -c 900)" "$(jq -r .stdout "$scratch/out" 2>&1 | tail -3)"
    fi
}
responsive() { # NAME
    if [ "$slowest" -lt 2000 ]; then ok "$1: the host answers ($slowest ms)"; else
        not_ok "$1: the host answers" "a small command took $slowest ms"
    fi
}

# --- a run that passes none ---------------------------------------------------------------------------------

limited 'head -c 3M /dev/zero > file; rm file; for i in 1 2 3; do sleep 0.1 & done; wait; i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done; echo done'
says 'no limit is passed: no limit object, no warnings' '.status == "ok" and (has("limit") | not) and .warnings == []'
says 'processor time is plausible' '.resource_usage.cpu_ms > 5 and .resource_usage.cpu_ms < 15000 and .resource_usage.cpu_ms <= 4 * .duration_ms + 50'
says 'memory is plausible' '.resource_usage.memory_peak_bytes > 500000 and .resource_usage.memory_peak_bytes < 300000000'
says 'the peak of processes is what it was' '.resource_usage.processes_peak >= 3 and .resource_usage.processes_peak <= 5'
says 'bytes written is a number' '.resource_usage.bytes_written >= 0 and (.resource_usage.bytes_written | type) == "number"'
limited 'head -c 8M /dev/zero > kept; sleep 0.3'
says 'what was written to the workspace is counted' '.resource_usage.bytes_written >= 8000000 and .resource_usage.bytes_written < 20000000'
rm -f kept
limited 'python3 -c "
x = bytearray(100 << 20)
import time; time.sleep(0.2)"'
says 'a peak of 100 MB is seen' '.resource_usage.memory_peak_bytes > 100000000 and .resource_usage.memory_peak_bytes < 200000000'
limited true
says 'the smallest run has all of the fields' '[.resource_usage | .cpu_ms, .memory_peak_bytes, .processes_peak, .bytes_written | type] == ["number", "number", "number", "number"] and .resource_usage.processes_peak == 1'

# --- time ---------------------------------------------------------------------------------------------------

"$NACRE" run --json --timeout 300ms 'echo begun; sleep 20' > "$scratch/out" 2> /dev/null
is 'timeout: exit code' "$?" 124
says 'timeout: the result says which limit' '.status == "timeout" and .exit_code == 124 and .limit == {name: "timeout", value: 300, kept_by: "clock"} and .stdout == "begun\n"'
says 'and warns' '.warnings | any(test("300 ms"))'

tag=$(unique)
limited --limit cpu=1s "echo begun; : $tag; while :; do :; done"
exits 'cpu: exit code' 137
says 'cpu: the result says which limit' '.status == "limit" and .exit_code == 137 and .limit.name == "cpu" and .limit.value == 1000 and (.limit.kept_by | length) > 0 and .stdout == "begun\n"'
says 'cpu: it had about so much' '.resource_usage.cpu_ms >= 900 and .resource_usage.cpu_ms < 2500'
says 'cpu: a warning names it' '.warnings | any(test("cpu limit of 1 s"))'
responsive cpu
is_gone 'cpu: nothing is left' "$tag"
limited --limit cpu=1s --limit processes=8 'for i in 1 2 3 4; do (while :; do :; done) & done; wait'
says 'cpu: of the whole tree' '.status == "limit" and .limit.name == "cpu" and .resource_usage.cpu_ms < 3000'
limited --limit cpu=1s 'for i in 1 2 3 4 5 6 7 8; do bash -c "i=0; while [ \$i -lt 150000 ]; do i=\$((i+1)); done"; done; echo end'
says 'cpu: of processes that came one after the other' '.status == "limit" and .limit.name == "cpu"'
limited --limit cpu=1s 'sleep 1.5; echo slept'
says 'cpu: sleeping is free' '.status == "ok" and .stdout == "slept\n"'

# --- memory -------------------------------------------------------------------------------------------------

limited --limit memory=64MB 'python3 -c "
x = []
while True: x.append(bytearray(1 << 20))"'
exits 'memory: exit code' 137
says 'memory: the result says which limit' '.status == "limit" and .limit.name == "memory" and .limit.value == 67108864 and (.limit.kept_by | length) > 0'
says 'memory: it had little more' '.resource_usage.memory_peak_bytes > 40000000 and .resource_usage.memory_peak_bytes < 160000000'
says 'memory: a warning names it' '.warnings | any(test("memory limit of 64 MB"))'
responsive memory
limited --limit memory=64MB 'head -c 200M /dev/zero > /tmp/fill; echo $?; sleep 1; ls -l /tmp'
says 'memory: scratch places count' '.status == "limit" and .limit.name == "memory"'
limited --limit memory=100MB 'for i in 1 2 3 4; do python3 -c "
import time
x = bytearray(40 << 20); time.sleep(3)" & done; wait'
says 'memory: of all processes together' '.status == "limit" and .limit.name == "memory"'
limited --limit memory=200MB 'python3 -c "
import os, time
x = bytearray(100 << 20)
for i in range(4):
    if os.fork() == 0: time.sleep(0.5); os._exit(0)
for i in range(4): os.wait()
print(\"fine\")"'
says 'memory: what forked processes share counts once' '.status == "ok" and .stdout == "fine\n"'
limited --limit memory=64MB 'head -c 300M /dev/zero | tail -c 1 | wc -c'
says 'memory: what only flows through does not' '.status == "ok" and .stdout == "1\n"'
limited --limit memory=64MB 'head -c 120M /dev/zero > big; cat big > /dev/null; wc -c < big | wc -l; rm big'
says 'memory: nor do files of the workspace' '.status == "ok" and .stdout == "1\n"'

# --- disk ---------------------------------------------------------------------------------------------------

limited --limit disk=20MB 'echo begun; head -c 300M /dev/zero > fill; sleep 3; echo after'
exits 'disk: exit code' 137
says 'disk: the result says which limit' '.status == "limit" and .limit.name == "disk" and .limit.value == 20971520 and .stdout == "begun\n"'
says 'disk: a warning names it' '.warnings | any(test("disk limit of 20 MB"))'
responsive disk
rm -f fill
limited --limit disk=20MB 'for i in $(seq 60); do head -c 1M /dev/zero > fill$i; done; sleep 3; echo after'
says 'disk: many files' '.status == "limit" and .limit.name == "disk"'
rm -f fill*
# It may be over before anybody looks; what it left is added up all the same.
told=''
for i in 1 2 3 4 5; do
    limited --limit disk=5MB "head -c 6M /dev/zero > quick$i"
    told+=$(jq -r '"\(.status) \(.exit_code) \(.limit.name);"' "$scratch/out")
done
is 'disk: however quick' "$told" "$(printf 'limit 137 disk;%.0s' 1 2 3 4 5)"
rm -f quick*
limited --limit disk=5MB 'truncate -s 1G sparse; ln sparse too; head -c 4M /dev/zero > four; ln four more'
says 'disk: holes take none, and links none twice' '.status == "ok"'
rm -f sparse too four more

limited --limit disk=20MB 'for i in 1 2 3 4 5 6; do head -c 10M /dev/zero > same; rm same; sleep 0.05; done; echo fine'
says 'disk: what was removed again does not count for ever' '.status == "ok" or .limit.name == "disk"'
limited --limit disk=20MB 'truncate -s 15M sparse; head -c 15M /dev/zero > full; echo fine; rm sparse full'
says 'disk: below it nothing happens' '.status == "ok" and .stdout == "fine\n"'

# --- processes ----------------------------------------------------------------------------------------------

# Many threads that fork at the same time: no more than the limit are ever there.
cat > many.py << 'END'
import os, sys, threading, time
limit, made, refused, lock = int(sys.argv[1]), [], [0], threading.Lock()
def work():
    for _ in range(4):
        try:
            pid = os.fork()
        except BlockingIOError:
            with lock: refused[0] += 1
            time.sleep(0.01)
            continue
        if pid == 0:
            time.sleep(60)
            os._exit(0)
        with lock: made.append(pid)
threads = [threading.Thread(target=work) for _ in range(12)]
for t in threads: t.start()
for t in threads: t.join()
alive = [p for p in os.listdir("/proc") if p.isdigit() and int(p) not in (1, os.getpid(), os.getppid())]
print(len(made), len(alive), refused[0] > 0)
for pid in made: os.kill(pid, 9)
END
for n in 3 7; do
    limited --limit processes=$n "exec python3 many.py $n"
    says "processes: exactly $n children at once, however many threads fork" ".status == \"ok\" and .stdout == \"$n $n True\n\""
    says "processes: the peak says $n besides the program" ".resource_usage.processes_peak == $((n + 1)) or .resource_usage.processes_peak == $n"
    says 'processes: a warning says that some were refused' '.warnings | any(test("not started"))'
    responsive processes
done
limited --limit processes=5 'for i in {1..400}; do /bin/true; done; echo all'
says 'processes: 400 one after the other are never refused' '.status == "ok" and .stdout == "all\n" and .stderr == "" and .warnings == []'
says 'processes: and take no time' '.duration_ms < 6000'
limited --limit processes=5 'for i in {1..60}; do x=$(echo a | cat | cat); [ "$x" = a ] || echo "bad $i"; done; echo all'
says 'processes: nor are 60 pipelines of three in a substitution' '.status == "ok" and .stdout == "all\n" and .stderr == "" and .warnings == []'
# Just at the limit: two shells, a substitution, and two in its pipe. Often, for who counts can race.
cat > inner.sh << 'END'
i=0
while [ $i -lt 120 ]; do
    x=$(echo a_b | sed -e s/_/-/)
    [ "$x" = a-b ] || echo bad
    i=$((i + 1))
done
echo all
END
for round in 1 2 3; do
    limited --limit processes=5 'sh -c "sh inner.sh; true"; true'
    says "processes: nor are five at once, 120 times, round $round" '.status == "ok" and .stdout == "all\n" and .stderr == "" and .warnings == []'
done
limited --limit processes=5 'for i in {1..5}; do sleep 0.2 & done; wait; for i in {1..5}; do sleep 0.2 & done; wait; echo all'
says 'processes: five at once, twice' '.status == "ok" and .stdout == "all\n" and .stderr == "" and .warnings == []'
if [ -x /usr/bin/node ]; then
    limited --limit processes=1 'node -p 6*7'
    says 'processes: node runs under a limit of 1' '.status == "ok" and .stdout == "42\n"'
fi
if [ -x /usr/bin/java ]; then
    limited --limit processes=1 'java -version'
    says 'processes: java, too' '.status == "ok"'
fi
limited --limit processes=3 'python3 many.py 2 > /dev/null; exit 4'
exits 'processes: past it the command goes on, with its own status' 4
says 'processes: and no limit object' '.status == "failed" and (has("limit") | not)'

# --- files --------------------------------------------------------------------------------------------------

limited --limit files=20 'python3 -c "
import os
try:
    fds = [os.open(\"/dev/null\", 0) for _ in range(100)]
except OSError as e:
    print(e.strerror)"; ulimit -n'
says 'files: past it no more open, and the command goes on' '.status == "ok" and .stdout == "Too many open files\n20\n" and (has("limit") | not)'
limited --limit files=20 'ulimit -n 1000 2>/dev/null && echo GOT; for i in {1..200}; do exec 5< /dev/null 5<&-; done; echo fine'
says 'files: it counts those that are open, and cannot be raised' '.stdout == "fine\n"'

# --- output -------------------------------------------------------------------------------------------------

limited --limit output=10KB 'head -c 1000000 /dev/zero | tr "\0" x; echo err >&2; exit 3'
exits 'output: the exit code is its own' 3
says 'output: kept up to the limit, counted whole' '.status == "failed" and .stdout_bytes == 1000000 and .stdout_truncated and (.stdout | length) <= 10400 and (.stdout | length) >= 9000 and .stderr == "err\n" and (has("limit") | not)'
says 'output: with a warning' '.warnings | any(test("stdout was truncated at 10 KB"))'
limited --limit output=10KB 'seq 1 100000 >&2'
says 'output: each stream has its own' '.stderr_truncated and (.stdout_truncated | not)'

# --- as configuration, and names that are wrong ---------------------------------------------------------------

printf 'limits: {cpu: 500ms, memory: 64MB, processes: 3, files: 30, disk: 20MB, output: 5KB, timeout_max: 2s}\n' > "$scratch/config.yaml"
limited --config "$scratch/config.yaml" 'ulimit -n; sleep 60'
says 'limits of a configuration hold: the longest time' '.status == "timeout" and .limit.value == 2000 and .stdout == "30\n" and (.warnings | any(test("lowered")))'
limited --config "$scratch/config.yaml" 'while :; do :; done'
says 'and the others' '.status == "limit" and .limit.name == "cpu" and .limit.value == 500'
limited --config "$scratch/config.yaml" --limit cpu=300ms 'while :; do :; done'
says 'an option over it' '.limit.name == "cpu" and .limit.value == 300'
mkdir .nacre
printf 'limits: {processes: 2}\n' > .nacre/config.yaml
limited 'exec python3 many.py 2'
says 'a project can lower one' '.stdout == "2 2 True\n"'
printf 'limits: {memory: 4GB}\n' > .nacre/config.yaml
limited 'echo ran'
exits 'but not raise one' 125
rm -r .nacre
for limit in cpu=0 memory=x processes=-1 files=0 nothing=3 cpu memory=1TBB processes=1.5; do
    nacre run --limit "$limit" 'touch ran'
    exits "--limit $limit is refused" 125
done
check 'and nothing ran' test ! -e ran
limited --limit memory=300GB --limit processes=100000 --limit files=1000000000 --limit disk=100TB --limit cpu=100h 'echo ran'
says 'limits beyond what the machine has do no harm' '.status == "ok" and .stdout == "ran\n"'

done_testing

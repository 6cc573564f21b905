#!/usr/bin/env bash
# Runs alone.
# P7: a run leaves nothing on the host, however it ends: no mount, no control group, no process, no
# file in a temporary directory, no IPC object, no namespace.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"

mkdir ws
ended() { # PID: it is gone, or only not yet reaped by whoever has inherited it
    case $(ps -o stat= -p "$1") in '' | Z*) true ;; *) false ;; esac
}
# Groups bear the number of a process; those whose process lives belong to others who run meanwhile.
groups() {
    cut -d: -f3 /proc/self/cgroup | sort -u | while read -r own; do
        find /sys/fs/cgroup{,/*}"$own" -maxdepth 1 -type d -name 'nacre-*' 2> /dev/null
    done | sort -u | while read -r group; do
        if ended "${group##*-}"; then echo "$group"; fi
    done
}
temporary() { find /tmp /var/tmp /dev/shm /run -maxdepth 1 \( -user "$(id -u)" -o -uid +60000 \) -newer "$scratch/start" ! -path "$scratch*" ! -path '/tmp/nacre-test.*' ! -path '/tmp/nacre-stage.*' 2> /dev/null | grep -i -E 'nacre|launch|sandbox' | sort; }
state() {
    wc -l < /proc/self/mountinfo
    groups
    temporary
    ipcs -a | grep -c '^0x'
}
touch "$scratch/start"
state | sort > "$scratch/before"
# What an older run left may go meanwhile; what is new is ours.
new() { state | sort | comm -13 "$scratch/before" -; }
# shellcheck disable=SC2317 # called by wait_until
gone() { [ -z "$(new)" ]; }
try() { # NAME ARGUMENTS…
    local name=$1
    shift
    nacre run -w ws "$@"
    wait_until 3 gone
    is "$name: nothing is left" "$(new)" ''
}
try 'a plain run' 'true'
try 'one that fails' 'exit 9'
try 'one whose time is over' --timeout 500ms 'sleep 60'
try 'one that is over its memory' --limit memory=32MB 'x=aaaaaaaaaaaaaaaa; while :; do x=$x$x; done'
try 'one that is over its time on the processor' --limit cpu=1s 'while :; do :; done'
try 'one that cannot start' --cwd nowhere true
try 'one that makes objects' 'ipcmk -M 100 -Q -S 1; mkdir -p /tmp/d /dev/shm/d; touch /run/x; sleep 0.1'
try 'one in memory' --workspace :memory: 'touch x'
tag=$(unique)
for moment in 0.005 0.01 0.02 0.05 0.6; do
    "$NACRE" run -w ws "sleep $tag; :" > /dev/null 2>&1 &
    pid=$!
    sleep "$moment"
    guard=$(pgrep -P "$pid" | head -1)
    kill -KILL "$pid"
    wait "$pid" 2> /dev/null
    if [ -n "$guard" ]; then wait_until 5 ended "$guard"; fi
    is_gone "killed after $moment s: no process is left" "sleep $tag"
    # What a killed guard leaves (a control group) goes with the next call.
    nacre run -w ws true
    check "killed after $moment s: nothing else is" wait_until 5 gone
done

done_testing

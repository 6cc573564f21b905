#!/usr/bin/env bash
# Runs alone.
# Many runs in a row, every tenth killed at a random moment, nacre itself or its guard: afterwards the
# host is as it was, and the next run works.
#
# RUNS is how many; 300 times $SOAK unless it is set.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

runs=${RUNS:-$((300 * SOAK))}
tag=$(unique)
# What we can see of the host. Other tests may run beside this one: only names that are nacre's count.
mounts() { cut -d' ' -f2- /proc/mounts | sort; }
# Groups lie below the one that we are in ourselves.
groups_of_ours() {
    local path
    cut -d: -f3 /proc/self/cgroup | sort -u | while read -r path; do
        if [ "$path" = / ]; then
            find /sys/fs/cgroup -maxdepth 2 -type d -name 'nacre-*' 2> /dev/null
        else
            find /sys/fs/cgroup -type d -path "*$path/nacre-*" -name 'nacre-*' 2> /dev/null
        fi
    done | sort -u
}
tmp_of_ours() { find /tmp /var/tmp /dev/shm -maxdepth 1 -user "$(id -un)" -name '*nacre*' ! -name 'nacre-test*' ! -name 'nacre-stage*' ! -name '.nacre-scratch-*' 2> /dev/null | sort; }
open_files() { cut -f1 /proc/sys/fs/file-nr; }
ipc_of_ours() { tail -q -n +2 /proc/sysvipc/shm /proc/sysvipc/sem /proc/sysvipc/msg | wc -l; }

mkdir ws
echo content > ws/file
texts=(
    "true $tag"
    "echo x | cat; : $tag"
    "sleep 0.02 & : $tag; wait"
    "head -c 200000 /dev/zero > /tmp/f; rm -f made; echo x > made; rm -f made; : $tag"
    "(setsid sleep $tag &); for i in 1 2 3; do /bin/true; done"
    "sleep $tag & exit 3"
)
wanted=(0 0 0 0 0 3)

mounts_before=$(mounts)
groups_before=$(groups_of_ours)
tmp_before=$(tmp_of_ours)
files_before=$(open_files)
ipc_before=$(ipc_of_ours)
start=$SECONDS
bad=0 killed=0 cut_short=0 first_bad=''
# Nobody is to be told of each job that was killed.
exec 3>&2 2> /dev/null
for ((n = 0; n < runs; n++)); do
    kind=$((n % ${#texts[@]}))
    if ((n % 10 != 9)); then
        "$NACRE" run -w ws "${texts[kind]}" > "$scratch/run-out" 2> "$scratch/run-err" < /dev/null
        code=$?
        if [ "$code" -ne "${wanted[kind]}" ]; then
            bad=$((bad + 1))
            first_bad=${first_bad:-"run $n: exit code $code of '${texts[kind]}': $(head -c 300 "$scratch/run-err")"}
        fi
        continue
    fi
    "$NACRE" run -w ws --timeout 60s "echo x > /tmp/f; sleep 0.5; : $tag" > /dev/null 2>&1 < /dev/null &
    pid=$!
    # Some die before there is a guard, some in the middle of building, some after they ran a while.
    printf -v moment '0.%04d' $((n % 30 == 9 ? RANDOM % 4500 : RANDOM % 300))
    sleep "$moment"
    victim=$pid
    if ((RANDOM % 2)); then
        victim=$(pgrep -P "$pid" | head -1)
        victim=${victim:-$pid}
    fi
    if kill -KILL "$victim"; then killed=$((killed + 1)); fi
    if ! wait "$pid"; then cut_short=$((cut_short + 1)); fi
done
exec 2>&3
took=$((SECONDS - start))
echo "# $runs runs in $took s, $killed killed"

if [ "$bad" -eq 0 ]; then ok "$runs runs in $took s: all that were left alone ended as they should"; else
    not_ok "$runs runs in $took s: all that were left alone ended as they should" "$bad did not" "$first_bad"
fi
check "control: $killed were killed" test "$killed" -ge $((runs / 10))
is 'none of those says that it went well' "$cut_short" "$((runs / 10))"

is_gone 'no process is left' "$tag"
"$NACRE" run -w ws 'cat file' > "$scratch/run-out" 2> "$scratch/run-err"
is 'one more run works' "$? $(cat "$scratch/run-out" "$scratch/run-err")" '0 content'
is 'no mount is left' "$(mounts)" "$mounts_before"
# A guard that was killed cannot remove its group; the next run does. Groups have the numbers of their
# guards: those of living ones are somebody else's.
left=''
for group in $(comm -13 <(echo "$groups_before") <(groups_of_ours)); do
    if ! grep -qs nacre-launch "/proc/${group##*nacre-}/comm"; then left+="$group "; fi
done
is 'no control group is left' "$left" ''
is 'no file is left in /tmp' "$(comm -13 <(echo "$tmp_before") <(tmp_of_ours))" ''
is 'nor in the workspace' "$(find ws -mindepth 1 -printf '%P ')" 'file '
is 'nor a shared memory segment, semaphore or queue' "$(ipc_of_ours)" "$ipc_before"
now=$(open_files)
check "open files of the machine: $files_before before, $now after" test "$now" -lt $((files_before + 1500))
is 'and we have no child left' "$(pgrep -P $$ -c nacre)" 0

done_testing

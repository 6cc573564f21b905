#!/usr/bin/env bash
# P13, L3: a wall that cannot be built stops the run; nothing runs with fewer walls.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"

mkdir ws
# Each line breaks one thing in a mount namespace of its own, in which nacre then runs.
attempt() { # NAME COMMANDS PATTERN
    rm -f "$scratch/code"
    cat > "$scratch/try" << EOF
$2 || exit 99
exec $as "$NACRE" run -w "$PWD/ws" 'touch ran; echo ran' > "$scratch/out" 2> "$scratch/err"
EOF
    "${enter[@]}" bash "$scratch/try"
    code=$?
    # shellcheck disable=SC2034 # for complains
    out=$(cat "$scratch/out") err=$(cat "$scratch/err")
    complains "$1: refused" 125 "$3"
    is "$1: nothing ran" "$(cat "$scratch/out")$(ls ws)" ''
}
as=''
if [ "$(id -u)" = 0 ]; then
    enter=(unshare -m)
else
    enter=(unshare -Urm)
    # To nacre we are an ordinary user again, in a namespace below the one with the mounts.
    as="unshare -U --map-user=1000 --map-group=1000"
fi
if ! "${enter[@]}" bash -c "$as true"; then
    skip 'broken walls' 'unshare does not work here'
else
    attempt 'a part of /proc is covered' 'mount --bind /dev/null /proc/version' 'nacre: cannot build the sandbox: *proc*systempaths=unconfined*'
    attempt 'a device is not there' 'mount -t tmpfs none /dev' 'nacre: *'
fi
if [ "$(id -u)" = 0 ]; then
    # A file system without idmapped mounts under root's workspace: proc has none.
    attempt 'no /proc at all' 'mount -t tmpfs none /proc' 'nacre: *'
    attempt 'the workspace cannot be idmapped' "mount -t ramfs none '$PWD/ws'" 'nacre: cannot build the sandbox: *'
fi

# Every resource that can run out does so before the program starts, or not at all.
odd=''
refused=0
for n in $(seq 6 24); do
    (ulimit -n "$n" && exec "$NACRE" run -w ws 'touch ran; grep -c "^CapEff:.0000000000000000" /proc/self/status; id -u; ls /sys 2>/dev/null') > "$scratch/out" 2> "$scratch/err"
    code=$?
    if [ $code = 0 ]; then
        [ "$(cat "$scratch/out")" = $'1\n1000' ] || odd+="$n: $(cat "$scratch/out") "
    else
        refused=$((refused + 1))
        [ $code = 125 ] && [ ! -e ws/ran ] || odd+="$n: exit $code "
    fi
    rm -f ws/ran
done
is 'with few descriptors: all walls or nothing' "$odd" ''
check "control: some were too few ($refused)" test "$refused" -gt 0

done_testing

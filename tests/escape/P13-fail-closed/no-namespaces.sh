#!/usr/bin/env bash
# P13, L3: where user namespaces are off, the run is refused with the remedy, and nothing runs.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"

mkdir ws
# Root of a namespace that can have none below it: refused, whatever it is called there.
cat > "$scratch/none" << EOF
echo 0 > /proc/sys/user/max_user_namespaces || exit 99
"$NACRE" run -w "$PWD/ws" 'touch ran; echo ran'
EOF
unshare -Ur bash "$scratch/none" > "$scratch/out" 2> "$scratch/err"
code=$? out=$(cat "$scratch/out") err=$(cat "$scratch/err")
complains 'as root of a namespace: refused with one line' 125 'nacre: cannot build the sandbox: *'
is 'as root of a namespace: nothing ran' "$out$(ls ws)" ''

# In a namespace of our own the limit can be set to one; the next takes it, and is nobody's root.
cat > "$scratch/one" << EOF
echo 1 > /proc/sys/user/max_user_namespaces || exit 99
exec unshare -U --map-user=1000 --map-group=1000 bash "$scratch/off"
EOF
cat > "$scratch/off" << EOF
"$NACRE" run -w "$PWD/ws" 'touch ran; echo ran' > "$scratch/out" 2> "$scratch/err"
echo \$? > "$scratch/code"
"$NACRE" run --json -w "$PWD/ws" 'touch ran; echo ran' > "$scratch/json" 2>> "$scratch/err2"
"$NACRE" doctor > "$scratch/doctor" 2>&1
echo \$? > "$scratch/doctor-code"
EOF
chmod 755 "$scratch"
if ! unshare -Ur bash "$scratch/one"; then
    skip 'user namespaces switched off' 'unshare -Ur does not work here'
else
    # shellcheck disable=SC2034 # for complains
    code=$(cat "$scratch/code") out=$(cat "$scratch/out") err=$(cat "$scratch/err")
    complains 'refused with one line' 125 'nacre: cannot build the sandbox: *'
    like 'that names the setting' "$err" '*max_user_namespaces*'
    is 'nothing was printed by the command' "$(cat "$scratch/out")" ''
    check 'and it did not run' test ! -e ws/ran
    check 'the JSON says so' jq -e '.status == "error" and .exit_code == 125 and (.error | test("max_user_namespaces")) and .stdout == ""' "$scratch/json"
    is 'doctor says so too' "$(cat "$scratch/doctor-code")" 1
    like 'with the remedy' "$(cat "$scratch/doctor")" '*max_user_namespaces*'
fi

done_testing

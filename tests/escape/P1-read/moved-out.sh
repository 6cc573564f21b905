#!/usr/bin/env bash
# P1: a directory that the host moves out of the workspace, while a process inside sits in it, does
# not take that process along to what lies beside its new place.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"

cp "$TOOLS/attack_files" .
mkdir -p ws/room/deep out
cp attack_files ws/
secret="secret-$(unique)"
echo "$secret" > out/secret
cat > "$scratch/outside" << EOF
cd "$PWD" && mkdir -p control/room && exec "$TOOLS/attack_files" hold control/room "$PWD/control/go" ../secret
EOF
bash "$scratch/outside" > "$scratch/control" &
pid=$!
wait_until 10 grep -qs up "$scratch/control"
mv control/room out/control-room
touch control/go
wait "$pid"
like 'control: on the host it does' "$(cat "$scratch/control")" "*$secret*"

# The name of the sign is absolute, since it must be found from wherever the process is; and it lies in a path that
# is only shown, since what is written to the workspace is real at the end alone.
mkdir sign
"$NACRE" run -w ws --read-path "$PWD/sign" "./attack_files hold room '$PWD/sign/go' ../secret; cd room/deep 2>/dev/null; true" > "$scratch/out" 2>&1 &
pid=$!
wait_until 10 grep -qs up "$scratch/out"
mv ws/room out/room
touch sign/go
wait "$pid"
like 'control: it sat there and looked' "$(cat "$scratch/out")" '*up*done*'
unlike 'inside it does not' "$(cat "$scratch/out")" "*$secret*"

# The shell itself, two levels down, and with what it writes.
mkdir -p ws/again/deep
"$NACRE" run -w ws --read-path "$PWD/sign" "cd again/deep; echo up; until [ -e '$PWD/sign/go2' ]; do sleep 0.05; done; cat ../../secret ../secret; echo harm > ../../new; echo harm > ../new; mkdir ../../dir; cd ..; cd ..; cat secret; pwd -P; echo looked" > "$scratch/out" 2>&1 &
pid=$!
wait_until 10 grep -qs up "$scratch/out"
mv ws/again out/again
touch sign/go2
wait "$pid"
like 'control: the shell looked' "$(cat "$scratch/out")" '*looked*'
unlike 'nor from two levels down' "$(cat "$scratch/out")" "*$secret*"
is 'and nothing was written beside it' "$(cd out && echo *)" 'again control-room room secret'

done_testing

#!/usr/bin/env bash
# P3: no terminal comes in: none to push input into, none that controls.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"

cp "$TOOLS/attack" .
nacre run './attack push-input'
prints 'no input can be pushed' 'done'
# On a terminal: its input would be a command of the person's shell.
cat > "$scratch/session" << EOF
cd '$PWD' && '$NACRE' run './attack push-input; tty; ps -o tty= -p \$\$; ls -l /proc/self/fd/0; sleep 0.2' > '$scratch/out' 2>&1
IFS= read -r -t 1 pushed; printf 'pushed=%s\n' "\$pushed" > '$scratch/pushed'
EOF
script -qec "bash '$scratch/session'" /dev/null < /dev/null > /dev/null
out=$(cat "$scratch/out")
unlike 'nor on a terminal' "$out" '*GOT*'
like 'control: it was tried' "$out" 'done*'
is_file 'nothing arrived there' "$scratch/pushed" $'pushed=\n'
like 'inside there is no terminal' "$out" $'*not a tty\n[?]*'
like 'standard input is then /dev/null' "$out" '*/dev/null'
nacre run 'exec 3<> /dev/tty && echo GOT; echo x > /dev/console && echo GOT; ls /dev/pts; echo done'
is 'no controlling terminal, none of the host'"'"'s' "$out" $'ptmx\ndone'
nacre run 'ps -o pid=,sid=,tty= -p $$ | tr -s " "'
unlike 'a session of its own' "$out" '*pts*'
nacre run '[ -t 0 ] || [ -t 1 ] || [ -t 2 ] || echo none'
prints 'no standard stream is a terminal' none

done_testing

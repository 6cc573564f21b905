#!/usr/bin/env bash
# P1, P2: a workspace in memory shows nothing of the directory that nacre was called in, and leaves
# nothing.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"

secret="secret-$(unique)"
echo "$secret" > file
echo "$secret" > .env
before=$(find . -printf '%p %s %T@\n' | sort)
nacre run --workspace :memory: "cat file .env $PWD/file 2>/dev/null; find / -xdev -name .env 2>/dev/null; pwd; ls -A; echo made > made && cat made; echo harm > $PWD/harm"
like 'control: it is a directory that can be written' "$out" '*made'
unlike 'what lies here is not there' "$out$err" "*$secret*"
is 'nothing is left here' "$(find . -printf '%p %s %T@\n' | sort)" "$before"
nacre run --workspace :memory: 'ls -A; cat made 2>/dev/null; true'
prints 'and the next one is empty' ''
nacre run --workspace :memory: 'cd ..; cd ..; ls -A; ls -A /tmp'
unlike 'no name above it tells of the host' "$out" "*${PWD##*/}*"
is 'no directory of that name is made' "$(ls -d ./:memory:* 2> /dev/null)" ''

done_testing

#!/usr/bin/env bash
# Runs alone.
# P7: processes at once are limited, however they are made: fork, own sessions, two forks, vfork, as
# siblings; threads of one process are none.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"
# shellcheck source=tests/escape/bomb.sh
. "$(dirname "$0")/../bomb.sh"

cp "$TOOLS/attack_bomb" .
for how in fork session double vfork clone; do
    bomb --timeout 5s --limit processes=5 "./attack_bomb fork $how 60"
    made=${out#made }
    check "$how: control: some were made ($made)" test "${made:-0}" -ge 1
    check "$how: no more than may be" test "${made:-0}" -le 5
    unharmed "$how"
done
is_gone 'none is left' 'attack_bomb fork'
bomb --limit processes=5 './attack_bomb threads 40'
is 'threads of one process are not counted' "$out" 'made 40'
bomb --timeout 5s --limit processes=5 --limit memory=256MB './attack_bomb threads 30000'
made=${out#made }
check "but do not grow without end (${made:-ended})" test "${made:-0}" -lt 20000
unharmed 'threads'
bomb --limit processes=5 'for i in {1..60}; do /bin/true; done; echo all'
is 'control: one after the other there can be many' "$out" all

done_testing

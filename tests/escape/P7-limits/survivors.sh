#!/usr/bin/env bash
# Runs alone.
# P7: nothing outlives the run, whatever it did to be forgotten: sessions, two forks, nohup, ignored
# signals, another name, no parent.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"

cp "$TOOLS/attack" .
tag=$(unique)
try() { # NAME TEXT
    nacre run --timeout 10s --limit processes=40 "$2"
    if dead "$tag"; then ok "$1: gone at once"; else
        not_ok "$1: gone at once" "$(pgrep -af -- "$tag")"
        pgrep -f -- "$tag" | xargs -r kill -KILL
    fi
}
check 'control: on the host such a process stays' bash -c "(setsid sleep $tag > /dev/null 2>&1 &) ; sleep 0.2; pgrep -f '^sleep $tag'"
pgrep -f -- "^sleep $tag" | xargs -r kill
is_gone 'control: it is gone again' "^sleep $tag"
try 'in the background' "sleep $tag & sleep $tag & disown -a"
try 'a session' "setsid sleep $tag & setsid -f sleep $tag"
try 'two forks' "( (sleep $tag &) & ) ; (setsid bash -c '(sleep $tag &) &' &)"
try 'nohup' "nohup sleep $tag > /dev/null 2>&1 & nohup setsid sleep $tag > /dev/null 2>&1 &"
try 'every signal ignored' "./attack stubborn 600 $tag & (./attack stubborn 600 $tag &); sleep 0.2"
try 'a coprocess and a process substitution' "coproc sleep $tag; : < <(sleep $tag); exec 9> >(sleep $tag)"
try 'another name' "(exec -a '[kworker/0:1-$tag]' sleep 600 &); python3 -c \"
import ctypes, os
if os.fork() == 0:
    os.setsid()
    ctypes.CDLL(None).prctl(15, b'systemd')
    os.execv('/bin/sleep', ['init $tag', '600'])\""
try 'it leaves an exit status and goes' "(sleep 0.3; setsid sleep $tag) & exit 3"
exits 'control: and the status is told' 3
try 'a trap' "trap 'setsid sleep $tag &' EXIT TERM HUP INT; sleep $tag & :"
try 'stopped' "sleep $tag & kill -STOP \$!; setsid bash -c 'kill -STOP \$\$' $tag &
sleep 0.2"

done_testing

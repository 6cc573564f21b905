#!/usr/bin/env bash
# P3: nothing else of the caller's state comes in: signals, directory, session, limits that widen.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"

mkdir elsewhere
# The two real-time signals that the C library keeps for itself are ignored in all that it starts.
(trap '' PIPE TERM INT; cd elsewhere && "$NACRE" run -w .. 'grep -E "^Sig(Ign|Blk)" /proc/self/status; pwd') > "$scratch/out" 2> /dev/null
is 'signals are default ones' "$(grep -cE '(SigBlk|SigIgn):.00000000[08]0000000$|SigIgn:.0000000180000000$' "$scratch/out")" 2
is 'the directory is that of the workspace' "$(tail -1 "$scratch/out")" "$PWD"
(cd / && exec "$NACRE" run -w "$OLDPWD" 'readlink /proc/self/cwd; readlink /proc/self/root') > "$scratch/out"
is 'the host'"'"'s root is not held as a directory' "$(cat "$scratch/out")" "$PWD"$'\n/'
(umask 000; "$NACRE" run 'umask') > "$scratch/out"
is 'the umask is told, not hidden' "$(cat "$scratch/out")" 0000
nacre run 'cat /proc/self/status | grep -E "^(Seccomp|NoNewPrivs)"; ulimit -c'
like 'core files are off' "$out" '*0'
nacre run 'hostname; cat /etc/hostname; uname -n'
is 'the host'"'"'s name is not told' "$out" $'nacre\nnacre\nnacre'
nacre run 'cat /proc/self/cgroup'
is 'nor its control group' "$(cut -d: -f3 <<< "$out" | sort -u)" /
nacre run 'cat'
prints 'without an input there is none' ''

done_testing

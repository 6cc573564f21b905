#!/usr/bin/env bash
# Runs alone.
# P7, L2: process 1 has the program's uid, but the program cannot slow it down and so outlive the run.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"

tag=$(unique)
cat > starve.py << 'P'
import os, resource, sys
def attempt(name, call):
    try:
        call()
        print("GOT", name, flush=True)
    except OSError:
        pass
attempt("scheduler", lambda: os.sched_setscheduler(1, os.SCHED_IDLE, os.sched_param(0)))
attempt("batch", lambda: os.sched_setscheduler(1, os.SCHED_BATCH, os.sched_param(0)))
attempt("affinity", lambda: os.sched_setaffinity(1, {0}))
attempt("priority", lambda: os.setpriority(os.PRIO_PROCESS, 1, 19))
attempt("group priority", lambda: os.setpriority(os.PRIO_PGRP, 1, 19))
attempt("user priority", lambda: os.setpriority(os.PRIO_USER, 0, 19))
attempt("limits", lambda: resource.prlimit(1, resource.RLIMIT_CPU, (0, 0)))
os.sched_setaffinity(0, os.sched_getaffinity(0))
os.setpriority(os.PRIO_PROCESS, 0, 1)
print("own settings may change", flush=True)
P
nacre run 'python3 starve.py'
prints 'process 1 keeps its share; others are free' 'own settings may change'
nacre run --timeout 3s "python3 starve.py; for i in {1..300}; do setsid bash -c 'while :; do :; done' $tag & done; wait"
exits 'three hundred busy processes end with the run' 124
is_gone 'none is left' "$tag"

done_testing

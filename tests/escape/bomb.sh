# shellcheck shell=bash
# What the attacks on limits share: a run that is watched while it grows, by a host that goes on with
# its own small things meanwhile. Comes after lib.sh.

: "${scratch:?}"

# Runs nacre with these arguments, and leaves $code, $status, $out (what the command printed), and
# $slowest: the longest time in milliseconds that a small command of the host took meanwhile.
bomb() {
    local pid start took
    "$NACRE" run --json --timeout 8s "$@" > "$scratch/result" 2> "$scratch/err" <&0 &
    pid=$!
    slowest=0
    while kill -0 "$pid" 2> /dev/null; do
        start=${EPOCHREALTIME/[.,]/}
        bash -c 'echo x' > "$scratch/echo"
        took=$(((${EPOCHREALTIME/[.,]/} - start) / 1000))
        if [ "$took" -gt "$slowest" ]; then slowest=$took; fi
        sleep 0.05
    done
    wait "$pid"
    code=$?
    # shellcheck disable=SC2034 # for the tests
    status=$(jq -r .status "$scratch/result") out=$(jq -r .stdout "$scratch/result")
}

# The last bomb was ended by its limit, as the result says, and the host did not feel it.
ended() { # NAME
    if [ "$status" = limit ] && [ "$code" = 137 ]; then ok "$1: ended by the limit"; else
        not_ok "$1: ended by the limit" "status $status, exit code $code" "$(head -c 400 "$scratch/result")"
    fi
    unharmed "$1"
}

unharmed() { # NAME
    if [ "$slowest" -lt 3000 ]; then ok "$1: the host answers (within $slowest ms)"; else
        not_ok "$1: the host answers" "it took $slowest ms"
    fi
}

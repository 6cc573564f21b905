# shellcheck shell=bash
# What every test script starts with: checks that print TAP, and the program under test.
#
#   $JUDGE    the program        $TOOLS    small C programs of tests/tools
#   $NACRE    the same without the policy: what it is asked to run meets the walls alone
#   $SOAK     how many times as long the repeating tests run (1, or 10 in `make soak`)
#
# A script runs in an empty directory of its own, as root and as an ordinary user, and ends with
# `done_testing`. Its standard input is /dev/null. What it keeps for itself goes to $scratch, which
# is no part of the workspace.

: "${NACRE:?run the tests with tests/run}"
: "${SOAK:=1}"
test_count=0
test_failed=0
scratch=$(mktemp -d /tmp/nacre-test.XXXXXX) || exit 1
trap 'rm -rf "$scratch"' EXIT
# What is kept of changes goes with the test.
export XDG_STATE_HOME=$scratch/state
# Through a daemon, if WARM is a program that can be one: then what `nacre run` starts was built ahead, but for the first of a kind.
# It ends with the test, whose pipe it holds, or a moment after.
if [ -n "${WARM:-}" ]; then
    (
        "$WARM" daemon --pool 2 &
        daemon=$!
        trap 'kill $daemon 2> /dev/null; wait $daemon; rm -rf "$scratch"' EXIT
        while kill -0 $$ 2> /dev/null && [ -d "$scratch" ]; do sleep 0.2; done
    ) > /dev/null 2>&1 < /dev/null &
    for _ in $(seq 50); do [ -S "$XDG_STATE_HOME/nacre/daemon/socket" ] || sleep 0.02; done
fi
# In `echo x | { nacre run …; check …; }` the checks count too.
shopt -s lastpipe

ok() {
    test_count=$((test_count + 1))
    printf 'ok %d - %s\n' "$test_count" "$1"
}

not_ok() {
    test_count=$((test_count + 1))
    test_failed=$((test_failed + 1))
    printf 'not ok %d - %s\n' "$test_count" "$1"
    shift
    local line
    for line in "$@"; do printf '%s\n' "$line" | sed 's/^/#   /'; done
}

skip() { # NAME WHY
    test_count=$((test_count + 1))
    printf 'ok %d - %s # SKIP %s\n' "$test_count" "$1" "$2"
}

check() { # NAME COMMAND…: the command succeeds
    local name=$1 output
    shift
    if output=$("$@" 2>&1); then ok "$name"; else not_ok "$name" "failed: $*" "$output"; fi
}

refute() { # NAME COMMAND…: the command fails
    local name=$1 output
    shift
    if output=$("$@" 2>&1); then not_ok "$name" "succeeded: $*" "$output"; else ok "$name"; fi
}

is() { # NAME GOT WANTED
    if [ "$2" = "$3" ]; then ok "$1"; else not_ok "$1" "got:    ${2:0:1000}" "wanted: ${3:0:1000}"; fi
}

like() { # NAME GOT PATTERN: a shell pattern
    # shellcheck disable=SC2254
    case $2 in
    $3) ok "$1" ;;
    *) not_ok "$1" "got:          ${2:0:1000}" "wanted match: $3" ;;
    esac
}

unlike() { # NAME GOT PATTERN
    # shellcheck disable=SC2254
    case $2 in
    $3) not_ok "$1" "got:             ${2:0:1000}" "wanted no match: $3" ;;
    *) ok "$1" ;;
    esac
}

is_file() { # NAME FILE WANTED: the file's content, byte for byte
    if [ -e "$2" ] && printf '%s' "$3" | cmp -s - "$2"; then ok "$1"; else
        not_ok "$1" "in the file: $(head -c 300 "$2" 2>&1 | tr -d '\0')" "wanted: $3"
    fi
}

# Runs nacre with these arguments and leaves what came of it in $code, $out and $err.
# The files $scratch/out and $scratch/err have the bytes.
nacre() {
    "$NACRE" "$@" > "$scratch/out" 2> "$scratch/err"
    code=$?
    out=$(tr -d '\0' < "$scratch/out")
    err=$(tr -d '\0' < "$scratch/err")
}

exits() { # NAME CODE: of the last call of nacre
    if [ "$code" = "$2" ]; then ok "$1"; else
        not_ok "$1" "exit code $code, wanted $2" "stdout: ${out:0:300}" "stderr: ${err:0:300}"
    fi
}

prints() { # NAME WANTED: on standard output, exit code 0, nothing on standard error
    if [ "$out" = "$2" ] && [ "$code" = 0 ] && [ -z "$err" ]; then ok "$1"; else
        not_ok "$1" "wanted: ${2:0:300}" "stdout: ${out:0:300}" "stderr: ${err:0:300}" "exit code $code"
    fi
}

complains() { # NAME CODE PATTERN: exactly one line on standard error that matches, and this code
    # shellcheck disable=SC2254
    case $err in
    $3) ;;
    *) not_ok "$1" "stderr: ${err:0:600}" "wanted match: $3" "exit code $code, wanted $2" && return ;;
    esac
    if [ "$code" = "$2" ] && [ "$(wc -l < "$scratch/err")" = 1 ]; then ok "$1"; else
        not_ok "$1" "exit code $code, wanted $2" "stderr: ${err:0:600}"
    fi
}

# A number that no other process has among its arguments: `sleep $(unique)` can be found by it.
unique() { printf '9%d%05d%05d' "$$" "$RANDOM" "$RANDOM"; }

# Whether some process other than these has the text among its arguments; a zombie has none.
alive() { pgrep -f -- "$1" > /dev/null; }

wait_until() { # SECONDS COMMAND…
    local end=$((SECONDS + $1))
    shift
    until "$@"; do
        if [ "$SECONDS" -ge "$end" ]; then return 1; fi
        sleep 0.05
    done
}

dead() { ! alive "$1"; }

is_gone() { # NAME TEXT: within seconds no process has the text among its arguments
    if wait_until 8 dead "$2"; then ok "$1"; else
        not_ok "$1" "still there:" "$(pgrep -a -f -- "$2")"
        pgrep -f -- "$2" | xargs -r kill -KILL
    fi
}

done_testing() {
    printf '1..%d\n' "$test_count"
    [ "$test_failed" -eq 0 ]
    exit
}

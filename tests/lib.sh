# shellcheck shell=bash
# What every test script starts with: checks that print TAP, and the program under test.
#
#   $NACRE    the program        $TOOLS    small C programs of tests/tools
#   $SOAK     how many times as long the repeating tests run (1, or 10 in `make soak`)
#
# A script runs in an empty directory of its own, as root and as an ordinary user, and ends with
# `done_testing`. Its standard input is /dev/null.

: "${NACRE:?run the tests with tests/run}"
: "${SOAK:=1}"
test_count=0
test_failed=0

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
    if [ "$2" = "$3" ]; then ok "$1"; else not_ok "$1" "got:    $2" "wanted: $3"; fi
}

like() { # NAME GOT PATTERN: a shell pattern
    # shellcheck disable=SC2254
    case $2 in
    $3) ok "$1" ;;
    *) not_ok "$1" "got:          $2" "wanted match: $3" ;;
    esac
}

unlike() { # NAME GOT PATTERN
    # shellcheck disable=SC2254
    case $2 in
    $3) not_ok "$1" "got:             $2" "wanted no match: $3" ;;
    *) ok "$1" ;;
    esac
}

done_testing() {
    printf '1..%d\n' "$test_count"
    [ "$test_failed" -eq 0 ]
    exit
}

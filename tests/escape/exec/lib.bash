# shellcheck shell=bash
# For the attacks on the verdict at exec: `touch` is denied, everything else may run, and a file named
# `mark` tells that it ran.

# shellcheck source=tests/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../../lib.sh"

cp "$TOOLS/attack_exec" .
printf 'extends: full-auto\nshell:\n  deny: [touch]\n' > "$scratch/policy.yaml"

judged() { # OPTION… TEXT
    result=$("$JUDGE" run --config "$scratch/policy.yaml" --json "$@" 2> "$scratch/err")
}

executed() { jq -c '[.executed[].argv]' <<< "$result"; }
warnings() { jq -r '.warnings[]' <<< "$result"; }

# The same text in a file, which is read only when it runs.
judged_later() { # OPTION… TEXT
    printf '%s\n' "${@: -1}" > later
    judged "${@:1:$#-1}" 'bash later'
}

# The harm is absent, what was tried is in the list, and the warning says which rule it was.
stopped() { # NAME TEXT PATTERN-OF-EXECUTED
    rm -rf mark
    judged_later "$2"
    if [ -e mark ]; then
        not_ok "$1: it does not run" "${result:0:2000}"
    else
        ok "$1: it does not run"
    fi
    like "$1: it is in the list" "$(executed)" "$3"
    like "$1: the warning names the rule" "$(warnings)" '*was stopped before it began*touch*'
}

# The same way with a program that nobody denies, so that the way itself is known to work.
runs() { # NAME TEXT
    rm -rf mark
    judged_later "$2"
    is "$1: no program was stopped" "$(warnings | grep -c stopped)" 0
}

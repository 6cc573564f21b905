# shellcheck shell=bash
# For the tests that compare nacre's reading of bash with bash's own; behind tests/lib.sh.
#
# A set of texts is a file of frames in $scratch. What is made of the set NAME: NAME.answers,
# .rendered, .report, .status, and of its renderings .again, .trees, .trees-status.

: "${STAGE:?run the tests with tests/run}"
: "${scratch:?tests/lib.sh comes first}"
oracle=$STAGE/build/release/oracle
tables=("$STAGE"/tests/cases/shell/*.txt)
[ -e "${tables[0]}" ] || tables=()

ask() { # < FRAMES > ANSWERS
    # shellcheck disable=SC2016 # for the inner bash
    LC_ALL=C.UTF-8 bash --norc -c 'enable -f "$1" oracle && oracle -l -r' bash "$oracle/oracle.so"
}

# Reads the set with bash and with nacre, and then its renderings. Says nothing: it may run in the
# background.
read_both() { # SET [COMPARE]
    local set=$scratch/$1 compare=${2:-$oracle/compare}
    ask < "$set" > "$set.answers" 2> "$set.errors"
    "$compare" "$set" "$set.answers" "$set.rendered" > "$set.report" 2>> "$set.errors"
    echo $? > "$set.status"
    ask < "$set.rendered" > "$set.again" 2>> "$set.errors"
    "$compare" --trees "$set.answers" "$set.again" "$set" > "$set.trees" 2>> "$set.errors"
    echo $? > "$set.trees-status"
}

# The refusals by nacre alone that no row of the table covers: lines of reason and path. PATHS has a
# line for each text of the set; without it they are `generated`.
unlisted() { # SET [PATHS]
    local set=$scratch/$1 paths=${2:-} number reason path part pattern parts=() patterns=() i
    while IFS=$'\t' read -r part pattern; do
        case $part in '' | '#'*) continue ;; esac
        parts+=("$part") patterns+=("$pattern")
    done < "$STAGE/tests/oracle/refused.txt"
    if [ -n "$paths" ]; then mapfile -t paths < "$paths"; fi
    awk '/^REFUSED / { sub(/^REFUSED at [0-9]+:[0-9]+: /, ""); reason = $0; next }
         reason != "" { sub(/:$/, "", $2); print $2 "\t" reason; reason = "" }' "$set.report" |
        while IFS=$'\t' read -r number reason; do
            path=generated
            if [ "${#paths[@]}" -gt 1 ]; then path=${paths[number - 1]}; fi
            printf '%s\t%s\n' "$reason" "$path"
        done | sort | uniq -c | sort -rn | sed 's/^ *[0-9]* //' |
        while IFS=$'\t' read -r reason path; do
            for i in "${!parts[@]}"; do
                # shellcheck disable=SC2053 # the right side is a pattern
                if [[ $reason == *"${parts[i]}"* && $path == ${patterns[i]} ]]; then continue 2; fi
            done
            printf '%s: %s\n' "$path" "$reason"
        done
}

count() { # SET WHAT: the number in front of WHAT in the set's sums
    sed -n "s/.* \([0-9]*\) $2.*/\1/p" "$scratch/$1.report" "$scratch/$1.trees" | tail -n 1
}

check_both() { # SET WHAT [PATHS]: the checks on what read_both left
    local set=$scratch/$1 what=$2 texts
    texts=$(sed -n '$s/ texts: .*//p' "$set.report")
    if [ "$(cat "$set.status")" = 0 ] && [ ! -s "$set.errors" ] && [ "${texts:-0}" -gt 0 ]; then
        ok "$what: bash and nacre read them alike ($(tail -n 1 "$set.report"))"
    else
        not_ok "$what: bash and nacre read them alike" "$(tail -n 1 "$set.report")" "$(cat "$set.errors")" \
            "$(grep -v -A1 '^REFUSED' "$set.report" | grep -A3 -E '^(DIFFER|ACCEPTED|NOT|RENDERING)' | head -n 40)"
    fi
    is "$what: what nacre alone refuses is in tests/oracle/refused.txt" "$(unlisted "$1" "${3:-}")" ''
    if [ "$(cat "$set.trees-status")" = 0 ] && [ "$(count "$1" 'rendered alike')" -gt 0 ]; then
        ok "$what: bash reads the renderings as it reads the texts ($(tail -n 1 "$set.trees"))"
    else
        not_ok "$what: bash reads the renderings as it reads the texts" "$(tail -n 1 "$set.trees")" \
            "$(grep -A3 '^RENDERING' "$set.trees" | head -n 40)"
    fi
    # What bash prints of a command in a word is now and then no command.
    if [ "$(count "$1" misprinted)" -le $((texts / 1000)) ]; then
        ok "$what: next to all could be compared"
    else
        not_ok "$what: next to all could be compared" "$(tail -n 1 "$set.report")"
    fi
}

#!/usr/bin/env bash
# Verdicts by table: ordinary commands are allowed, attacks never are, and the lists of the two
# documents that the built-in lists come from have their decision under each profile.

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
export HOME=$scratch/home XDG_CONFIG_HOME=$scratch/config
mkdir -p "$HOME" "$XDG_CONFIG_HOME"
cases=$STAGE/tests/cases/policy
git init -q . && mkdir -p src sub docs && echo x > README.md

# The texts of a column as JSON strings, one a line, with \\ \t \n \r undone.
texts() { # FILE COLUMN
    tail -n +2 "$1" | jq -R -c --argjson column "$2" '
        def plain: [scan("\\\\.|[^\\\\]+")] | map(
            if . == "\\n" then "\n" elif . == "\\t" then "\t" elif . == "\\r" then "\r"
            elif . == "\\\\" then "\\" else . end) | join("");
        split("\t")[$column] | plain'
}

# Decisions beside what was expected; prints the rows that are wrong, and leaves how many there were.
compare() { # FILE TEXT_COLUMN EXPECTED_COLUMN_OR_VALUE OPTIONS…
    local file=$1 column=$2 expected=$3
    shift 3
    texts "$file" "$column" > "$scratch/texts"
    "$JUDGE" test --batch "$@" < "$scratch/texts" > "$scratch/verdicts" 2> "$scratch/err"
    case $expected in
    [0-9]) tail -n +2 "$file" | cut -f $((expected + 1)) > "$scratch/expected" ;;
    *) sed "s/.*/$expected/" "$scratch/texts" > "$scratch/expected" ;;
    esac
    rows=$(wc -l < "$scratch/texts")
    jq -r '.decision' "$scratch/verdicts" > "$scratch/decisions"
    is "$(basename "$file") $*: a verdict for every text" "$(wc -l < "$scratch/decisions")" "$rows"
    # `confirm` in a table means: asked or denied, never allowed
    wrong=$(paste "$scratch/expected" "$scratch/decisions" "$scratch/texts" |
        awk -F'\t' '!($1 == $2 || ($1 == "confirm" && $2 == "deny" && !'"${exact:-0}"'))')
    is "$(basename "$file") $*: every decision" "$wrong" ''
}

compare "$cases/ordinary.tsv" 0 allow --config "$cases/policy.yaml"
check 'enough ordinary commands' test "$rows" -ge 200
compare "$cases/bypasses.tsv" 1 2 --config "$cases/policy.yaml"
check 'enough attacks' test "$rows" -ge 400
exact=1
compare "$cases/documents.tsv" 0 1 --profile safe
compare "$cases/documents.tsv" 0 2 --profile dev
compare "$cases/documents.tsv" 0 3 --profile full-auto
check 'every command of both documents' test "$rows" -ge 90

# The comparison itself can fail.
printf 'text\tx\nrm -rf /\tallow\n' > "$scratch/wrong.tsv"
texts "$scratch/wrong.tsv" 0 | "$JUDGE" test --batch --profile dev > "$scratch/verdicts"
is 'a wrong row would be seen' "$(jq -r .decision "$scratch/verdicts")" deny

# The same texts in any order, one by one or together, have the same verdict.
texts "$cases/bypasses.tsv" 1 | head -40 > "$scratch/some"
"$JUDGE" test --batch --config "$cases/policy.yaml" < "$scratch/some" > "$scratch/together"
while read -r text; do
    printf '%s\n' "$text" | "$JUDGE" test --batch --config "$cases/policy.yaml"
done < "$scratch/some" > "$scratch/alone"
is 'alone and together: the same verdicts' "$(cat "$scratch/alone")" "$(cat "$scratch/together")"
is 'one mandate_hash' "$(jq -r .mandate_hash "$scratch/together" | sort -u)" \
    "$("$JUDGE" policy hash --config "$cases/policy.yaml")"

done_testing

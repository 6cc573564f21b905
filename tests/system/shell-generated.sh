#!/usr/bin/env bash
# nacre reads programs made at random, and mutants of real ones, as bash does.
#
# An ordinary user does the bulk with the release build; everybody does a part with the sanitizers,
# since no user makes a difference to a parser. With SOAK other seeds follow, from the clock.

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=tests/oracle/lib.sh
. "$(dirname "$0")/../oracle/lib.sh"

texts=20000
if [ "$(id -u)" = 0 ]; then texts=1000; fi

# The seeds are our own, so that they are the same on every machine; the long form takes this one's
# scripts as well.
: > "$scratch/seeds"
if [ "$SOAK" -gt 1 ]; then "$STAGE/tests/oracle/scripts" "$scratch/paths" "$scratch/seeds"; fi
if [ ${#tables[@]} -gt 0 ]; then
    "$STAGE/tests/oracle/cases" "$scratch/paths" "$scratch/cases" "${tables[@]}"
    cat "$scratch/cases" >> "$scratch/seeds"
fi

round() { # SEED NUMBER [COMPARE]
    "$TOOLS/shellgen" grammar "$1" "$2" > "$scratch/grammar-$1"
    "$TOOLS/shellgen" mutate "$1" "$2" < "$scratch/seeds" > "$scratch/mutants-$1"
    read_both "grammar-$1" "${@:3}" &
    read_both "mutants-$1" "${@:3}"
    wait
    check_both "grammar-$1" "programs of seed $1"
    check_both "mutants-$1" "mutants of seed $1"
    rm -f "$scratch/grammar-$1"* "$scratch/mutants-$1"*
}

round 2 1000 "$STAGE/build/asan/oracle/compare"
if [ "$(id -u)" != 0 ]; then round 1 $texts; fi
for ((i = 1; i < SOAK; i++)); do
    seed=$((EPOCHSECONDS * 100 + i))
    echo "# seed $seed"
    round "$seed" $texts
done

done_testing

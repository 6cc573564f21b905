#!/usr/bin/env bash
# A text and its canonical form do the same, down to the line numbers in messages; and every command
# that runs is one that the tree has. Both are run in the sandbox, side by side.

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=tests/oracle/lib.sh
. "$(dirname "$0")/../oracle/lib.sh"

texts=1500
if [ "$(id -u)" = 0 ]; then texts=100; fi
cp "$STAGE/tests/oracle/both-ways.sh" .

round() { # SEED
    local seed=$1 parts part ran=0 differ=() numbers=() way commands some each
    parts=$(nproc)
    "$TOOLS/shellgen" grammar "$seed" "$texts" --safe > "$scratch/safe"
    read_both safe
    check_both safe "harmless programs of seed $seed"
    cp "$scratch/safe" texts
    cp "$scratch/safe.rendered" rendered
    mkdir results
    # shellcheck disable=SC2016 # for the inside
    nacre run --timeout 600s --limit cpu=1200s --limit processes=200 --limit files=500 -- bash -c '
        for ((part = 0; part < $0; part++)); do
            bash both-ways.sh texts rendered results "$part" "$0" &
        done
        wait' "$parts"
    prints "seed $seed: both ways run in the sandbox" ''
    for ((part = 0; part < parts; part++)); do
        ran=$((ran + $(cat "results/ran-$part")))
        mapfile -t -O "${#differ[@]}" differ < "results/differ-$part"
        mapfile -t -O "${#numbers[@]}" numbers < "results/numbers-$part"
    done
    if [ "$ran" -gt $((texts * 8 / 10)) ] && [ ${#differ[@]} -eq 0 ]; then
        ok "seed $seed: $ran texts and their renderings leave the same output, code and files"
    else
        not_ok "seed $seed: texts and their renderings leave the same output, code and files" \
            "$ran ran, ${#differ[@]} differ: ${differ[*]}" \
            "$(for each in "${differ[@]:0:4}"; do head -n 12 "results/$each-difference"; done)"
    fi
    # A line here and there cannot be kept.
    if [ ${#numbers[@]} -le $((ran / 10)) ]; then
        ok "seed $seed: ${#numbers[@]} of them with other line numbers"
    else
        not_ok "seed $seed: lines are kept" "${#numbers[@]} of $ran differ: ${numbers[*]}" \
            "$(for each in "${numbers[@]:0:4}"; do head -n 12 "results/$each-difference"; done)"
    fi
    for way in traces again; do
        commands=0
        for ((part = 0; part < parts; part++)); do
            "$oracle/compare" --ran texts "results/$way-$part" > "$scratch/ran-$part" 2>&1 ||
                not_ok "seed $seed, $way: no command ran that the tree has not" "$(tail -n 20 "$scratch/ran-$part")"
            some=$(sed -n 's/.* texts: \([0-9]*\) commands ran.*/\1/p' "$scratch/ran-$part")
            commands=$((commands + ${some:-0}))
        done
        if [ $commands -gt "$texts" ]; then
            ok "seed $seed, $way: $commands commands ran, all of them in the tree"
        else
            not_ok "seed $seed, $way: commands ran" "$commands"
        fi
    done
    rm -rf results
}

round 1
for ((i = 1; i < SOAK; i++)); do
    seed=$((EPOCHSECONDS * 100 + i))
    echo "# seed $seed"
    round "$seed"
done

done_testing

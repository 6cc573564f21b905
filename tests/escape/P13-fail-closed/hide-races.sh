#!/usr/bin/env bash
# P13, P1: hidden and protected paths that are exchanged, removed or made while nacre starts: the
# run is refused, or keeps what was asked for.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"

mkdir -p ws/conf ws/other
secret="secret-$(unique)"
echo "$secret" > ws/conf/key
echo original > ws/conf/locked
printf 'paths:\n  hide: [conf/key]\n  protect: [conf/locked]\n' > "$scratch/policy"
nacre run -w ws --config "$scratch/policy" 'cat conf/key; echo harm >> conf/locked; true'
unlike 'control: it is hidden when nothing moves' "$out$err" "*$secret*"
is_file 'control: and protected' ws/conf/locked $'original\n'
# The two directories change places all the time. Whatever was meant at the start, a run has all of its
# walls or does not begin.
cp ws/conf/locked ws/other/locked
echo nothing > ws/other/key
"$TOOLS/attack_files" swap ws/conf ws/other 2 > "$scratch/swaps" &
swapper=$!
harm='' ran=0 refused=0
while kill -0 "$swapper" 2> /dev/null; do
    nacre run -w ws --config "$scratch/policy" 'exec 3< conf; cat conf/key 2>/dev/null; echo end'
    case $code in 0) ran=$((ran + 1)) ;; 125) refused=$((refused + 1)) ;; *) harm+="exit $code: $err " ;; esac
    [ "$code" = 0 ] || [ -z "$out" ] || harm+="ran though refused: $out "
done
wait "$swapper"
is 'at random: refused as a whole, or run as a whole' "$harm" ''
check "control: runs were tried ($ran ran, $refused were refused)" test $((ran + refused)) -gt 5
like 'control: the names were exchanged' "$(cat "$scratch/swaps")" '[0-9][0-9]*'
is 'nobody wrote to what is protected' "$(cat ws/conf/locked ws/other/locked | sort -u)" original
# A launcher that first does harm, then what the real one does.
rm -rf ws
mkdir bin
cp "$NACRE" bin/nacre
for harm in 'mv ws/conf ws/away; mkdir ws/conf; cp ws/away/key ws/conf/copy' 'rm ws/conf/key; ln -s ../kept ws/conf/key' 'rm ws/conf/key; mkdir ws/conf/key; cp ws/kept ws/conf/key/kept' 'mv ws/conf ws/away; ln -s away ws/conf'; do
    rm -rf ws
    mkdir -p ws/conf
    echo "$secret" > ws/conf/key
    echo "$secret" > ws/kept
    chmod 600 ws/kept
    printf 'paths:\n  hide: [conf/key, kept]\n' > "$scratch/policy"
    printf '#!/bin/sh\nPATH=/usr/bin:/bin\ncd %q\n%s\nexec %q\n' "$PWD" "$harm" "$NACRE_LAUNCH" > bin/nacre-launch
    chmod 755 bin/nacre-launch
    NACRE=$PWD/bin/nacre nacre run -w ws --config "$scratch/policy" 'cat conf/key conf/key/kept kept 2>/dev/null; echo end'
    unlike "$harm: by the hidden names nothing is read" "$out" "*$secret*"
done

done_testing

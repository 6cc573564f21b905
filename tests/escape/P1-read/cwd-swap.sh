#!/usr/bin/env bash
# P1, L3: the directory to start in is exchanged for a link to another place while nacre opens it:
# the command never stands there.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"

mkdir -p ws/in out
secret="secret-$(unique)"
echo "$secret" > out/secret
echo mine > ws/in/mine
ln -s "$PWD/out" ws/link
nacre run -w ws --cwd in 'cat mine'
prints 'control: it starts there' mine
nacre run -w ws --cwd link 'cat secret; echo harm > new'
unlike 'a link that leads out is not followed' "$out$err" "*$secret*"
"$TOOLS/attack_files" swap ws/in ws/link 2 > "$scratch/swaps" &
swapper=$!
seen='' harm=''
while kill -0 "$swapper" 2> /dev/null; do
    nacre run -w ws --cwd in 'cat secret mine 2>/dev/null; echo harm > new; pwd -P'
    case $out in *"$secret"*) harm=$out ;; esac
    # What it wrote may have met the exchange as a conflict: then it ran, and is held.
    case $code$out in 0*mine* | 126*mine*) seen=yes ;; esac
done
wait "$swapper"
is 'at random: it never stands outside' "$harm" ''
is 'and writes nothing there' "$(ls out)" secret
is 'control: some runs ran' "$seen" yes
like 'control: the names were exchanged many times' "$(cat "$scratch/swaps")" '[0-9][0-9][0-9]*'

# Nor in a directory that the box does have.
rm ws/link
ln -s /usr ws/link
"$TOOLS/attack_files" swap ws/in ws/link 2 > "$scratch/swaps" &
swapper=$!
elsewhere=''
while kill -0 "$swapper" 2> /dev/null; do
    nacre run -w ws --cwd in 'pwd -P'
    case $out in "$PWD"/ws/*) ;; *) elsewhere=$elsewhere$out ;; esac
done
wait "$swapper"
is 'at random: it never stands in another place of the box' "$elsewhere" ''

done_testing

#!/usr/bin/env bash
# P1: a hidden file does not come to light when the directory that it is in is renamed, exchanged,
# linked or copied.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"

cp "$TOOLS/attack_files" .
secret="secret-$(unique)"
printf 'paths:\n  hide: [conf/deep/key]\n' > "$scratch/policy"
mkdir -p conf/deep other
echo "$secret" > conf/deep/key
echo plain > conf/deep/plain
look() { # NAME TEXT
    nacre run --config "$scratch/policy" "$2; find . -type f -exec cat {} + 2>/dev/null; echo looked"
    unlike "$1" "$out$err" "*$secret*"
    like "$1: control: it looked" "$out" '*looked'
    # Whatever it did, the file is there and says what it said.
    is "$1: the file is still there" "$(grep -rl "$secret" . | wc -l)" 1
    [ -e conf/deep/key ] || { rm -rf conf* other; mkdir -p conf/deep other; echo "$secret" > conf/deep/key; }
}
check 'control: on the host a rename brings it along' bash -c "mv conf c && grep -q '$secret' c/deep/key && mv c conf"
look 'the directory is renamed' 'mv conf/deep conf/moved; cat conf/moved/key; mv conf/moved conf/deep'
look 'the one above it is renamed' 'mv conf moved; cat moved/deep/key; mkdir -p conf/deep; cat conf/deep/key; rm -r conf; mv moved conf'
look 'it is exchanged with another' './attack_files swap conf other 0; cat other/deep/key; ./attack_files swap conf other 0'
look 'the hidden name is renamed' 'mv conf/deep/key conf/deep/lock; cat conf/deep/lock; mv conf/deep/lock conf/deep/key'
look 'all is copied' 'cp -a conf copied; cat copied/deep/key; rm -rf copied'
look 'a link leads there' 'ln -s conf/deep short; cat short/key; ln conf/deep/key hard; cat hard; rm -f short hard'
look 'it is opened before, from within' 'cd conf/deep; exec 8< .; mv ../../conf ../../moved; cat key /proc/self/fd/8/key; cd ../..; mv moved conf'

done_testing

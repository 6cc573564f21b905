#!/usr/bin/env bash
# Not through a daemon.
# P1, L3: the workspace is replaced between the plan and the mount: refused, for the plan was made for one
# directory (tree.c compares device and inode).
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"

here=$PWD
secret="secret-$(unique)"
# A launcher that waits until the plan is made, does harm, then what the real one does: the worst moment.
mkdir bin
cp "$NACRE" bin/nacre
arrange() { # SHELL COMMANDS
    rm -rf p hold out
    mkdir -p p/a out/a
    touch p/a/mine
    echo "$secret" | tee out/secret > out/a/secret
    printf '#!/bin/sh\nPATH=/usr/bin:/bin\nsleep 0.2\ncd %q\n%s\nexec %q\n' "$here" "$1" "$NACRE_LAUNCH" > bin/nacre-launch
    chmod 755 bin/nacre-launch
}
replaced() { # NAME SHELL COMMANDS
    arrange "$2"
    NACRE=$here/bin/nacre nacre run -w p/a 'ls -a; cat secret a/secret; touch harm; rm -f secret'
    unlike "$1: the other place is not shown" "$out$err" "*$secret*"
    is "$1: nor changed" "$(find out -name harm -o -name secret | sort | tr '\n' ' ')" 'out/a/secret out/secret '
    complains "$1: refused" 125 'nacre: cannot build the sandbox: *'
}
arrange :
NACRE=$here/bin/nacre nacre run -w p/a 'ls'
prints 'control: with nothing replaced it runs' mine
arrange ':'
NACRE=$here/bin/nacre nacre run -w out 'cat secret'
prints 'control: the other place can be shown' "$secret"
replaced 'a link to a directory' "mv p/a hold; ln -s $here/out p/a"
replaced 'a link to the root' 'mv p/a hold; ln -s / p/a'
replaced 'another directory' 'mv p/a hold; mv out/a p/a; mkdir out/a; cp out/secret out/a/'
replaced 'a link above it' "mv p hold; ln -s $here/out p"
replaced 'a file' 'mv p/a hold; cp out/secret p/a'
replaced 'nothing' 'rm -r p/a'

# And at random: whatever a run gets, it is what the name meant when the plan was made.
arrange :
bash -c 'while [ ! -e stop ]; do mv p hold && ln -s out p; rm p && mv hold p; done' 2> /dev/null &
swapper=$!
harm='' seen=''
for _ in $(seq $((60 * SOAK))); do
    nacre run -w p/a 'pwd; ls; cat secret 2> /dev/null; true'
    case $code$out in
    0"$here/p/a"*mine*) seen+=a ;;
    0"$here/out/a"*) seen+=o ;;
    125*) seen+=r ;;
    # Another directory stood there when its changes were looked for: a conflict.
    126"$here/p/a"*mine*) seen+=c ;;
    *) harm=$code$out ;;
    esac
    case $out in "$here/p/a"*"$secret"*) harm=$out ;; esac
done
touch stop
wait "$swapper"
is 'at random: no name shows another place' "$harm" ''
like 'control: some runs ran' "$seen" '*[ao]*'

done_testing

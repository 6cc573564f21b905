#!/usr/bin/env bash
# P1, P2: a workspace with an odd name is that directory and no other; nothing in its name is taken
# for anything else.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"

secret="secret-$(unique)"
mkdir out
echo "$secret" > out/secret
try() { # NAME DIRECTORY
    mkdir -p "./$2" 2> /dev/null || { skip "$1" 'this file system has no such names'; return; }
    echo mine > "./$2/mine"
    (cd "./$2" && "$NACRE" run 'cat mine; pwd -P > place; echo x > made; set -- ../*; echo $#; cat ../out/secret ../../out/secret "$OLDPWD/out/secret" 2>/dev/null') > "$scratch/out" 2> "$scratch/err"
    is "$1: entered" "$(cat "$scratch/out")" $'mine\n1'
    is_file "$1: written" "./$2/made" $'x\n'
    "$NACRE" run --workspace "$PWD/$2" 'cat made' > "$scratch/out" 2>&1
    is "$1: by an option" "$(cat "$scratch/out")" x
    rm -rf "./${2%%/*}"
}
try 'blanks' ' a  b '
try 'a line end' $'a\nb'
try 'quotes' "it's \"x\""
try 'a backslash' 'a\134b'
try 'shell' '$(touch harm);`id`'
try 'a leading dash' '--json'
try 'long' "$(printf 'n%.0s' {1..200})"
try 'no UTF-8' $'\xff\xfe\x80'
try 'control characters' $'\e[31m\a\r'
try 'deep' "$(printf 'd%.0s/' {1..60})e"
try 'a comma, an equals sign and a colon' 'a,lowerdir=/:b=c'
try 'like the one in memory' ':memory:x'
try 'like a number' '1000'
try 'spaces as the mount table writes them' '\040x'
is 'nothing else was made' "$(find . -mindepth 1 | sort | tr '\n' ' ')" './out ./out/secret '
mkdir real
ln -s real link
(cd link && "$NACRE" run 'echo x > made; pwd -P') > "$scratch/out" 2>&1
is_file 'by a symbolic link: it is what the link means' real/made $'x\n'

done_testing

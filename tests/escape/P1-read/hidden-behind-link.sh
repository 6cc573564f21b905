#!/usr/bin/env bash
# P1, P13: a link where a hidden path would be neither shows what it leads to, nor keeps later runs from running.

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"

mkdir ws
printf 'paths: {hide: [conf/deep/secret]}\n' > "$scratch/config.yaml"
try() { nacre run -w ws --config "$scratch/config.yaml" "$1"; }
try 'ln -s away conf'
exits 'a run makes a link above a path that is to be hidden' 0
try 'echo one'
prints 'the next one runs' one
try 'mkdir -p away/deep; echo two'
prints 'and makes what it leads to' two
try 'echo three'
prints 'and the next one' three
echo hidden > ws/away/deep/secret
try 'cat conf/deep/secret away/deep/secret'
unlike 'what is there by then is not read' "$out" '*hidden*'
rm ws/conf
mkdir -p ws/conf/deep
mv ws/away/deep/secret ws/conf/deep/secret
try 'cat conf/deep/secret; grep -r . .'
unlike 'nor without the link' "$out" '*hidden*'
done_testing

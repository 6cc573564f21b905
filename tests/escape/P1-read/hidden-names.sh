#!/usr/bin/env bash
# P1: names of hidden files may be odd; what cannot be hidden as it was asked for does not run with
# the file in view.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"

secret="secret-$(unique)"
try() { # NAME FILE: as it stands in the policy, in single quotes
    mkdir -p "$(dirname -- "./$2")"
    printf '%s\n' "$secret" > "./$2"
    printf "paths:\n  hide: ['%s']\n" "${2//\'/\'\'}" > "$scratch/policy"
    nacre run --config "$scratch/policy" 'find . -type f -exec cat {} + 2>/dev/null; true'
    unlike "$1: not in view" "$out$err" "*$secret*"
    case $code in
    0 | 125 | 126) ok "$1: it ran without the file, or not at all" ;;
    *) not_ok "$1: it ran without the file, or not at all" "exit code $code" "$err" ;;
    esac
    is_file "$1: the host has it" "./$2" "$secret"$'\n'
    rm -f "./$2"
}
echo "$secret" > plain
nacre run 'find . -type f -exec cat {} +'
like 'control: it would be seen' "$out" "*$secret*"
rm plain
try 'blanks' 'a b  c'
try 'a quote' "it's"
try 'double quotes and a backslash' 'a"b\c'
try 'a dollar sign' '$(touch x)'
try 'a leading dash' '-rf'
try 'a comma and braces' '{a,b}'
try 'other letters' 'größe-ключ-鍵'
try 'a long name' "$(printf 'n%.0s' {1..200})"
try 'deep down' "$(printf 'd/%.0s' {1..40})f"
try 'dots' '...'
try 'a colon' 'a:b'

# Names that lead elsewhere: the file at the end is what was meant.
mkdir -p real
echo "$secret" > real/file
ln -s real link
printf 'paths:\n  hide: [link/file]\n' > "$scratch/policy"
nacre run --config "$scratch/policy" 'cat link/file; true'
unlike 'through a link: not in view by that name' "$out$err" "*$secret*"
ln -s real/file name
printf 'paths:\n  hide: [name]\n' > "$scratch/policy"
nacre run --config "$scratch/policy" 'cat name; true'
unlike 'a link itself: not in view by that name' "$out$err" "*$secret*"
printf 'paths:\n  hide: ["real/"]\n' > "$scratch/policy"
nacre run --config "$scratch/policy" 'cat real/file; true'
unlike 'with a slash at the end' "$out$err" "*$secret*"
printf 'paths:\n  hide: ["./real/./file"]\n' > "$scratch/policy"
nacre run --config "$scratch/policy" 'cat real/file; true'
unlike 'with dots in it' "$out$err" "*$secret*"

done_testing

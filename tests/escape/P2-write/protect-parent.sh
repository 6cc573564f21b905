#!/usr/bin/env bash
# P2: a protected path is not got round by renaming the directory that it is in, and building
# another of that name.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"

cp "$TOOLS/attack_files" .
printf 'paths:\n  protect: [.git/hooks, .git/config]\n' > "$scratch/policy"
reset() {
    rm -rf .git moved other
    mkdir -p .git/hooks .git/info other/hooks
    echo original > .git/config
    echo original > .git/hooks/pre-commit
    echo harm > other/config
    echo harm > other/hooks/pre-commit
}
harmed() { cat .git/config .git/hooks/* 2> /dev/null | grep -c harm; }
try() { # NAME TEXT
    reset
    nacre run --config "$scratch/policy" "$2; echo tried"
    like "$1: control: tried" "$out" '*tried'
    is "$1: no harm at the protected path" "$(harmed)" 0
}
reset
bash -c 'mv .git moved; mv other .git'
is 'control: on the host it works' "$(harmed)" 2
try 'the parent is renamed and another put there' 'mv .git moved; mv other .git'
try 'the parent is renamed and built anew' 'mv .git moved; mkdir -p .git/hooks; echo harm > .git/hooks/post-checkout; echo harm > .git/config'
try 'the parent is removed and built anew' 'rm -rf .git; mkdir -p .git/hooks; echo harm > .git/hooks/post-checkout; echo harm > .git/config'
try 'the two are exchanged' './attack_files swap .git other 0'
try 'a link in its place' 'mv .git moved; ln -s other .git; rm -rf .git; ln -s other .git'
try 'a link in place of the directory' 'rm -rf .git/hooks; ln -s ../other/hooks .git/hooks; mv .git/hooks moved; ln -s ../other/hooks .git/hooks'
try 'by git itself' 'git init -q . ; git config core.pager harm; git config core.hooksPath other/hooks; rm -rf .git; git init -q --template=other .'
try 'many times, quickly' 'for i in 1 2 3 4 5 6 7 8 9; do mv .git moved$i; mv other .git; mv .git other; mv moved$i .git; done 2>/dev/null; mv other .git'
# A path of three parts: neither of the two above it gives way.
printf 'paths:\n  protect: [a/b/locked]\n' > "$scratch/policy"
for text in 'mv a z; mkdir -p a/b; echo harm > a/b/locked' 'mv a/b a/z; mkdir a/b; echo harm > a/b/locked' 'rm -rf a; mkdir -p a/b; echo harm > a/b/locked' './attack_files swap a other 0; mkdir -p a/b; echo harm > a/b/locked'; do
    rm -rf a z other
    mkdir -p a/b other
    echo original > a/b/locked
    nacre run --config "$scratch/policy" "$text; true"
    is_file "two levels: $text" a/b/locked $'original\n'
done

done_testing

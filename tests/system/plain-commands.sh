#!/usr/bin/env bash
# A text that is one plain command is executed without a shell. It must not show: whatever the command, what is printed,
# the exit code and the environment are as if bash had run it.
# shellcheck disable=SC2016 # texts for another shell are in single quotes
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

# The same text by a shell, which is then the plain command.
both() { # TEXT [INPUT]
    "$NACRE" run "$1" > "$scratch/out" 2> "$scratch/err" < "${2:-/dev/null}"
    local plain=$?
    "$NACRE" run -- bash -c -- "$1" > "$scratch/shell-out" 2> "$scratch/shell-err" < "${2:-/dev/null}"
    local shell=$?
    is "$1: exit code" "$plain" "$shell"
    is "$1: output" "$(od -c "$scratch/out")" "$(od -c "$scratch/shell-out")"
    is "$1: errors" "$(cat "$scratch/err")" "$(cat "$scratch/shell-err")"
}

mkdir dir bin
printf 'echo a script without a first line: "$0" "$@"; exit 7\n' > script
printf '#!/bin/sh\necho sh "$0" "$@"\n' > sh-script
printf '#!/nowhere/interpreter\n' > broken
printf '\177ELF and nothing else' > no-elf
echo text > not-executable
: > empty
chmod +x script sh-script broken no-elf empty
ln -s sh-script link
ln -s nowhere dangling
printf 'one\ntwo\n' > input

while IFS= read -r text; do both "$text"; done << 'END'
id
git --version
ls -la dir
cat input nosuch
printf-nosuch x
/usr/bin/printf '%s|' a '' "b c" $'d\te'
/usr/bin/env printf %s x
./script a 'b c' ''
./sh-script a
script
./link x
./dangling
./broken
./no-elf
./not-executable
./empty
./dir
dir
bin/
/usr/bin
./nosuch
''
grep -c . input
python3 -c 'import sys; sys.exit(300)'
python3 -c 'import os, signal; os.kill(os.getpid(), signal.SIGTERM)'
sh -c 'exit 9'
timeout 5 true
expr 1 + 1
"id" '-u'
\id -un
nosuch --option
[ -e input ]
true
echo plain
kill -l 9
END
both 'wc -l' input
both 'cat -' input

# What bash sets in the environment of what it executes.
"$NACRE" run 'env' | sort > "$scratch/plain"
"$NACRE" run -- bash -c env | sort > "$scratch/shell"
is 'the environment is the same' "$(cat "$scratch/plain")" "$(cat "$scratch/shell")"
like 'with the directory' "$(cat "$scratch/plain")" "*PWD=$PWD*"
nacre run --cwd dir 'env'
like 'also of another one' "$out" "*PWD=$PWD/dir*"
nacre run 'readlink /proc/self/exe'
is 'control: no shell is there' "$out" "$(readlink -f "$(command -v readlink)")"
nacre run 'cat /proc/self/status'
is 'and it is the second process of its box' "$(sed -n 's/^Pid:\t//p' "$scratch/out")" 2
is 'the child of the first' "$(sed -n 's/^PPid:\t//p' "$scratch/out")" 1

# A name is what PATH finds, never what lies in the workspace.
printf '#!/bin/sh\necho harm\n' > git
chmod +x git
nacre run 'git --version'
like 'a program in the workspace is not meant' "$out" 'git version*'
nacre run -- git --version
like 'nor behind --' "$out" 'git version*'

# More words than a plan has steps.
nacre run "ls -d $(printf '. %.0s' $(seq 2100))"
is 'very many words' "$(wc -l < "$scratch/out")" 2100
mkdir '%'
printf '#!/bin/sh\necho ran\n' > '%/x'
chmod +x '%/x'
both '%/x'
printf 'env: {set: {OLDPWD: /usr, IFS: x}}\n' > "$scratch/env.yaml"
"$NACRE" run --config "$scratch/env.yaml" env | sort > "$scratch/plain"
"$NACRE" run --config "$scratch/env.yaml" -- bash -c env | sort > "$scratch/shell"
is 'variables that bash has a mind about' "$(cat "$scratch/plain")" "$(cat "$scratch/shell")"

# Words are words, whatever is in them.
nacre run -- /usr/bin/printf '<%s>' '$(touch harm)' '`touch harm`' '*' '~' '; touch harm' $'a\nb' '-x' '--'
is 'nothing in a word is looked at' "$out" $'<$(touch harm)><`touch harm`><*><~><; touch harm><a\nb><-x><-->'
refute 'and nothing came of it' test -e harm
done_testing

#!/usr/bin/env bash
# Scripts of every language that is here: what they print, how they end, what is said of it, who may run them, and what is
# recorded.
# shellcheck disable=SC2016 # texts for other languages are in single quotes
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

get() { jq -r "$1" "$scratch/out"; }
judge() { NACRE=$JUDGE nacre "$@"; }

# --- every language: an argument, standard input, a file that is made, and an exit code -------------------------------

declare -A program=([python]=python3 [lisp]=sbcl [js]=node [mjs]=node [bash]=bash [sh]=sh [perl]=perl [ruby]=ruby [lua]=lua5.4
    [c]=cc [c++]=c++ [awk]=awk)
declare -A works=(
    [python]='import sys; print("python", sys.argv[1], sys.stdin.read().strip()); open("made", "w").write("x")'
    [lisp]='(format t "lisp ~a ~a~%" (car (last sb-ext:*posix-argv*)) (read-line)) (with-open-file (o "made" :direction :output) (write-string "x" o))'
    [js]='const fs = require("fs"); console.log("js", process.argv[2], fs.readFileSync(0, "utf8").trim()); fs.writeFileSync("made", "x")'
    [mjs]='import fs from "fs"; console.log("mjs", process.argv[2], fs.readFileSync(0, "utf8").trim()); fs.writeFileSync("made", "x")'
    [bash]='read -r line; echo bash "$1" "$line"; printf x > made'
    [sh]='read -r line; echo sh "$1" "$line"; printf x > made'
    [perl]='my $l = <STDIN>; chomp $l; print "perl $ARGV[0] $l\n"; open(my $f, ">", "made"); print $f "x"'
    [ruby]='puts "ruby #{ARGV[0]} #{$stdin.read.strip}"; File.write("made", "x")'
    [lua]='print("lua " .. arg[1] .. " " .. io.read()); local f = io.open("made", "w"); f:write("x")'
    [c]='#include <stdio.h>
int main(int c, char **v) { char b[9]; fgets(b, 9, stdin); printf("c %s %s", v[1], b); fputs("x", fopen("made", "w")); return c != 2; }'
    [c++]='#include <iostream>
#include <fstream>
int main(int, char **v) { std::string s; std::cin >> s; std::cout << "c++ " << v[1] << " " << s << "\n"; std::ofstream("made") << "x"; }'
    [awk]='BEGIN { a = ARGV[1]; ARGV[1] = "-" } { print "awk", a, $0; printf "x" > "made" }'
)
declare -A fails=(
    [python]='import sys; sys.exit("broken here")' [lisp]='(progn (format *error-output* "broken here") (sb-ext:exit :code 1))'
    [js]='throw new Error("broken here")' [mjs]='throw new Error("broken here")' [bash]='echo broken here >&2; exit 1'
    [sh]='echo broken here >&2; exit 1' [perl]='die "broken here"' [ruby]='abort "broken here"' [lua]='error("broken here")'
    [c]='int main(void) { broken here }' [c++]='int main() { broken here; }'
    [awk]='BEGIN { print "broken here" > "/dev/stderr"; exit 1 }'
)
for language in python lisp js mjs bash sh perl ruby lua c c++ awk; do
    if ! command -v "${program[$language]}" > /dev/null; then
        skip "$language" 'it is not here'
        continue
    fi
    rm -f made
    printf '%s\n' "${works[$language]}" > "$scratch/works"
    echo input > "$scratch/input"
    nacre script --lang "$language" "$scratch/works" 'a b' < "$scratch/input"
    is "$language prints" "$out" "$language a b input"
    exits "$language ends well" 0
    is_file "$language writes to the workspace" made x
    printf '%s\n' "${fails[$language]}" > "$scratch/fails"
    nacre script --json --lang "$language" "$scratch/fails"
    is "$language: a failure is one" "$(get '[.status, .synthesis, .exit_code != 0, .script.language] | map(tostring) | join(" ")')" \
        "failed true true $language"
    like "$language: its text asks to mend it" "$(get .analysis)" '*Standard error:*broken*write the script anew*'
    is "$language: nothing of it is left" "$(get '.changes | .created + .modified | length')" 0
done
rm -f made
is 'no file of it is in the workspace' "$(ls -A)" ''

# --- what it is -----------------------------------------------------------------------------------------------------

printf 'print("ok")\n' > "$scratch/a.py"
nacre script --json "$scratch/a.py"
is 'the name of the file says the language' "$(get .script.language)" python
is 'the command is what ran' "$(get .command)" 'python3 /etc/nacre/synth-python.py'
is 'its hash' "$(get .script.sha256)" "$(sha256sum < "$scratch/a.py" | cut -d' ' -f1)"
is 'its size' "$(get .script.bytes)" 12
like 'the text of a success' "$(get .analysis)" '*Exit code: 0*ok*'
printf 'print("{stderr} {command}")\n' | nacre script --json --lang python -
like 'what it prints is no template' "$(get .analysis)" '*{stderr} {command}*'
mkdir -p deep/er
cp "$scratch/a.py" 'deep/er/..x; touch pwned.py'
nacre script --lang python 'deep/er/../er/..x; touch pwned.py'
prints 'a name that is a path is only read' ok
check 'and means nothing' test ! -e pwned.py
rm -rf deep
nacre script --lang python "$scratch/none"
complains 'a file that is not there' 125 "nacre: script: '*none': No such file or directory"
nacre script "$scratch/works"
complains 'no language' 125 'nacre: script: in which language?*'
nacre script
complains 'no script' 125 'nacre: script: no script*'
nacre script --lang klingon "$scratch/a.py"
complains 'an unknown language lists the known' 125 "nacre: unknown language 'klingon'; there are: awk, bash, c, c++, *lisp*python*"
printf 'languages: {rare: {run: [no-such-program, "{file}"], install: apt install rare}, cat: {run: [cat, "{file}"]}}\n' > "$scratch/config"
nacre script --config "$scratch/config" --lang rare "$scratch/a.py"
complains 'one that is not installed says how to get it' 127 "nacre: rare is not installed here: PATH has no 'no-such-program' (apt install rare)"
nacre script --config "$scratch/config" --lang cat "$scratch/a.py"
prints 'a language of the configuration' 'print("ok")'

# --- odd ones -------------------------------------------------------------------------------------------------------

{ printf 'print(len("'; head -c 1048576 /dev/zero | tr '\0' x; printf '"))\n'; } > "$scratch/large.py"
nacre script "$scratch/large.py"
prints 'a script of 1 MB' 1048576
printf 'a\0b\\c\0\n\\0' > "$scratch/nul"
nacre script --config "$scratch/config" --lang cat "$scratch/nul"
check 'NUL and backslashes are passed byte for byte' cmp "$scratch/out" "$scratch/nul"
nacre script --lang bash "$scratch/nul"
like 'bash refuses them' "$err" '*refused: line 1*'
exits 'as text that cannot be read' 126
head -c 4194305 /dev/zero > "$scratch/huge"
nacre script --lang python "$scratch/huge"
exits 'one that is too large is refused' 126
printf 'while True: pass\n' | nacre script --timeout 500ms --lang python -
exits 'one that never ends' 124
printf '' | nacre script --lang python -
prints 'an empty one' ''

# --- who may run them -----------------------------------------------------------------------------------------------

judge script "$scratch/a.py"
exits 'dev asks' 126
like 'by its rule' "$err" "*'python3' runs a script*\[scripts]*"
id=$(grep -o 'nacre approve [0-9a-f]*' <<< "$err" | cut -d' ' -f3)
judge approve "$id" --yes
judge script "$scratch/a.py"
prints 'what was approved runs' ok
judge script "$scratch/a.py"
exits 'once' 126
id=$(grep -o 'nacre approve [0-9a-f]*' <<< "$err" | cut -d' ' -f3)
judge approve "$id" --yes
printf 'print("other")\n' > "$scratch/b.py"
judge script "$scratch/b.py"
exits 'and no other script with the same command' 126
judge script --profile full-auto "$scratch/a.py"
prints 'full-auto does not ask' ok
judge script --profile safe "$scratch/a.py"
exits 'safe refuses' 126
printf 'shell: {scripts: allow}\n' > "$scratch/allow"
judge script --config "$scratch/allow" "$scratch/a.py"
prints 'scripts: allow' ok
judge run --config "$scratch/allow" 'python3 -c 1'
exits 'is for scripts alone' 126
printf 'shell: {allow: [python3]}\n' > "$scratch/listed"
judge script --config "$scratch/listed" "$scratch/a.py"
prints 'so does an entry for the program' ok
printf 'shell: {scripts: allow, deny: [python3]}\n' > "$scratch/denied"
judge script --config "$scratch/denied" "$scratch/a.py"
exits 'a denied program stays denied' 126
judge script --config "$scratch/allow" --allow ls "$scratch/a.py"
exits 'under a mandate the program must be on it' 126
judge script --config "$scratch/allow" --allow python3 "$scratch/a.py"
prints 'and then runs' ok
printf 'import os, subprocess\nprint(subprocess.run(["ls"]).returncode)\n' > "$scratch/ls.py"
judge script --config "$scratch/allow" --allow python3 "$scratch/ls.py"
is 'and what it starts must be on it, too' "$out" -9
like 'which is said' "$err" "*'/usr/bin/ls' was stopped before it began*"
printf 'ls\n' | judge script --lang bash -
exits 'a script of bash is judged as its text: allowed' 0
printf 'ls\nfrobnicate\n' | judge script --lang bash -
like 'asked' "$err" "*'frobnicate' is not on the list*"
printf 'rm -rf "$1"\n' | judge script --lang bash - /
exits 'with arguments, which are not known' 126
mkdir .nacre
printf 'shell: {scripts: allow}\n' > .nacre/config.yaml
judge script "$scratch/a.py"
like 'a project cannot widen it' "$err" '*shell.scripts: a project*only tighten*'
printf 'languages: {python: {run: [cat, "{file}"]}}\n' > .nacre/config.yaml
judge script "$scratch/a.py"
like 'nor the languages' "$err" '*languages: a project*only tighten*'
rm -r .nacre

# --- what is kept ---------------------------------------------------------------------------------------------------

printf 'open("kept", "w").write("one")\nprint("done")\n' > "$scratch/kept.py"
judge script --json --profile full-auto "$scratch/kept.py" arg
id=$(get .correlation_id)
is 'its change is one' "$(get '.changes.created[0]')" kept
judge history "$id"
like 'history has the script' "$out" '*language*python*script*bytes*open("kept", "w")*'
judge undo "$id"
check 'it is undone' test ! -e kept
judge replay "$id..$id"
exits 'and runs again to the same end' 0
judge plan --lang python "$scratch/a.py"
like 'the plan has it' "$out" '*file*"/etc/nacre/synth-python.py"*print(*'
judge test --lang python "$scratch/a.py"
exits 'the verdict alone' 3
judge verify
exits 'the ledger and its objects are whole' 0

done_testing

#!/usr/bin/env bash
# nacre test, and what run does with a verdict.
# shellcheck disable=SC2016 # texts for another shell are in single quotes

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
NACRE=$JUDGE
export HOME=$scratch/home XDG_CONFIG_HOME=$scratch/config
mkdir -p "$HOME" "$XDG_CONFIG_HOME/nacre"
chmod -R go-w "$XDG_CONFIG_HOME"

# --- the verdict for people and for programs ---------------------------------------------------

nacre test 'git status'
exits 'allowed' 0
is 'one line' "$out" 'ALLOW  allow: git status'
nacre test 'ls; sudo ls'
exits 'denied' 1
like 'first the verdict' "$out" 'DENY  deny: sudo'$'\n''*'
like 'then each reason with its place underlined' "$out" "*'sudo' is denied*"$'\n''    ls; sudo ls'$'\n''        ^~~~~~~*'
nacre test 'echo $(touch x)'
exits 'to be confirmed' 3
like 'inside a substitution' "$out" $'CONFIRM  unknown\n*echo $(touch x)\n           ^~~~~~~*'
nacre test 'echo "'
exits 'unparsable is denied' 1
like 'by the rule parse' "$out" 'DENY  parse'$'\n*'
nacre test $'ls\nsudo reboot\nls'
like 'the line of the reason' "$out" $'*    sudo reboot\n    ^~~~~~~~~~~*'
nacre test $'ls \e[2J\u202e; make'
refute 'no control character reaches the terminal' grep -q $'\e' "$scratch/out"
refute 'nor a bidirectional one' grep -q $'\u202e' "$scratch/out"

nacre test --json 'timeout 5 find . -exec rm {} +'
exits 'JSON of a text to be confirmed' 3
check 'is JSON' jq -e . "$scratch/out"
value() { jq -c "$1" "$scratch/out"; }
is 'decision' "$(value .decision)" '"confirm"'
is 'reasons have rule, reason and span' "$(value '.reasons[0] | [has("rule", "reason", "span")] | all')" true
is 'all acts' "$(value '[.acts[].argv[0]]')" '["timeout","find","rm"]'
is 'the wrappers through which it is reached' "$(value '.acts[2].via')" '["timeout","find"]'
is 'a word that is not known is null' "$(value '.acts[2].argv')" '["rm",null]'
is 'its effects' "$(value '.acts[2].effects | index("deletes") != null')" true
is 'its span' "$(value '.acts[2].span')" '[23,28]'
is 'mandate_hash' "$(value .mandate_hash)" "\"$("$JUDGE" policy hash)\""

printf '%s\n' '"ls"' '"sudo ls"' 'no json' '"echo \""' '""' > "$scratch/in"
nacre test --batch < "$scratch/in"
exits 'a batch succeeds whatever its texts' 0
is 'one line each, in order' "$(jq -r .decision "$scratch/out" | tr '\n' ' ')" 'allow deny deny deny allow '
nacre test --batch ls < /dev/null
exits 'a batch takes no text' 2
nacre test
exits 'no text' 2

# --- run obeys ---------------------------------------------------------------------------------

nacre run 'echo hi > out.txt; cat out.txt'
exits 'allowed: runs' 0
is 'its output' "$out" hi
nacre run 'touch marker'
exits 'nobody to ask: refused' 126
check 'and nothing ran' test ! -e marker
like 'says so' "$err" '*needs confirmation: *touch*'
nacre run --json 'touch marker'
exits 'the same as JSON' 126
is 'status' "$(value .status)" '"needs_confirmation"'
is 'verdict in the result' "$(value .verdict.decision)" '"confirm"'
is 'rule' "$(value .policy_rule_matched)" '"unknown"'
nacre run --json 'ls; curl http://x/'
exits 'denied' 126
is 'status denied' "$(value .status)" '"denied"'
is 'denied rule' "$(value .policy_rule_matched)" '"deny: curl"'
nacre run --json 'echo hi'
is 'an allowed run has its verdict too' "$(value .verdict.decision)" '"allow"'
is 'and the rule' "$(value .policy_rule_matched)" '"allow: echo"'
nacre run --profile full-auto 'touch marker && rm marker && echo done'
is 'full-auto runs what is not listed' "$out" 'done'
nacre run --profile safe 'echo hi'
exits 'safe runs nothing' 126
nacre run --agent coder 'printf "all:\n\t@echo made\n" > Makefile && make'
is 'the coder builds' "$out" made
nacre run --agent writer 'touch x'
exits 'a writer may not touch' 126
is 'and it is no question' "$("$JUDGE" test --agent writer --json 'touch x' | jq -r .decision)" deny
nacre run --allow 'ls' 'ls && echo hi'
exits 'a mandate for the call' 126
nacre run --allow 'ls' --allow echo 'ls > /dev/null && echo hi'
is 'that lists it' "$out" hi

# A person at a terminal is asked, sees the whole text made safe, and the default is no.
ask() { # ANSWER TEXT
    printf '%s\n' "$1" | script -qec "$(printf '%q run %q' "$JUDGE" "$2")" /dev/null > "$scratch/tty" 2>&1
    tr -d '\r' < "$scratch/tty" > "$scratch/shown"
}
ask yes 'touch asked'
check 'yes runs it' test -e asked
like 'the question' "$(cat "$scratch/shown")" '*touch asked*CONFIRM*unknown*Run it?*'
rm -f asked
for answer in '' n no y 'yes ' 'yes please'; do
    ask "$answer" 'touch asked'
    check "the answer '$answer' does not" test ! -e asked
done
ask no "touch asked$(printf ' %.0s' {1..600}); touch hidden-behind-blanks # "$'\e[2K\u202e'
like 'the end of a long text is shown' "$(cat "$scratch/shown")" '*hidden-behind-blanks*'
refute 'controls are not obeyed' grep -q $'\e\\[2K' "$scratch/shown"
refute 'nor bidirectional characters' grep -q $'\u202e' "$scratch/shown"

# --- a configuration that does not load --------------------------------------------------------

printf 'shell:\n  alow: [ls]\n' > "$XDG_CONFIG_HOME/nacre/config.yaml"
nacre run 'ls'
exits 'run: a broken configuration is our failure' 125
like 'with its place' "$err" '*config.yaml:2:3: *alow*'
nacre run --json 'touch marker'
exits 'as JSON too' 125
is 'nothing ran' "$(value .status) $(ls marker 2> /dev/null)" '"error" '
nacre test 'ls'
exits 'test: 2' 2
nacre plan 'ls'
exits 'plan: 2' 2
rm "$XDG_CONFIG_HOME/nacre/config.yaml"
head -c 10M /dev/zero | tr '\0' a > "$scratch/large.yaml"
nacre run --config "$scratch/large.yaml" 'ls'
exits '10 MB of configuration' 125
head -c 4096 /bin/true > "$scratch/binary.yaml"
nacre run --config "$scratch/binary.yaml" 'ls'
exits 'a binary' 125
like 'its place' "$err" '*binary.yaml:1:*'

# --- options of the policy ---------------------------------------------------------------------

printf 'shell: {plain: true}\n' > "$scratch/plain.yaml"
nacre test --config "$scratch/plain.yaml" 'ls -l'
exits 'plain: a plain command' 0
for text in 'ls; ls' 'ls &' 'ls | wc' 'ls > x' 'wc < x' 'echo $x' 'echo `ls`' 'echo \x' 'echo !'; do
    nacre test --config "$scratch/plain.yaml" "$text"
    exits "plain: $text" 1
done
printf 'shell: {max_command_length: 10}\n' > "$scratch/short.yaml"
nacre test --config "$scratch/short.yaml" 'echo 12345'
exits 'as long as may be' 0
nacre test --config "$scratch/short.yaml" 'echo 123456'
exits 'too long' 1
printf 'workspace: ro\n' > "$scratch/ro.yaml"
nacre test --config "$scratch/ro.yaml" 'echo x > y'
exits 'a read-only workspace' 1
printf 'paths: {read: [~/reference]}\n' > "$scratch/read.yaml"
nacre test 'cat ~/reference/x'
exits 'home is not listed' 1
nacre test --config "$scratch/read.yaml" 'cat ~/reference/x'
exits 'unless it is' 0
nacre test --config "$scratch/read.yaml" 'cat ~/reference/../x'
exits 'and nothing beside it' 1

# Symbolic links lead where they lead now.
ln -s /etc/shadow link; mkdir -p real; ln -s /var/lib outside; ln -s real inside
nacre test 'cat link'
exits 'a link to a file outside' 1
nacre test 'cat outside/x'
exits 'a link to a directory outside' 1
nacre test 'echo x > outside/new'
exits 'also for what is not there yet' 1
nacre test 'cat inside/x'
exits 'a link that stays inside' 0

done_testing

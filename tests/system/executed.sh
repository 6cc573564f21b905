#!/usr/bin/env bash
# `executed`: every program that was really started, with its words and how it ended; complete for a
# real make and a real npm test, in the result, in the ledger and in the history.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

printf 'extends: full-auto\nlimits: {processes: 50}\n' > "$scratch/policy.yaml"
judged() { result=$("$JUDGE" run --config "$scratch/policy.yaml" --json "$@" 2> "$scratch/err"); }
executed() { jq -c '[.executed[] | [.argv[0], .exit_code]]' <<< "$result"; }
names() { jq -r '.executed[].argv[0]' <<< "$result" | sed 's,.*/,,'; }

judged 'true; /bin/true; /bin/false; sh -c "exit 7"; ls -d . > /dev/null'
is 'programs in their order, builtins are none' "$(executed)" \
    '[["bash",0],["/bin/true",0],["/bin/false",1],["sh",7],["ls",0]]'
judged 'ls -d . "two words" "" 2> /dev/null; true'
is 'words as they are' "$(jq -c '.executed[1].argv' <<< "$result")" '["ls","-d",".","two words",""]'
judged 'ls'
is 'a plain command needs no shell' "$(executed)" '[["ls",0]]'
printf 'kill -9 $$\n' > dies
judged 'sh dies; true'
is 'killed by a signal: 128 and its number' "$(jq -c '.executed[1].exit_code' <<< "$result")" 137
judged 'sh -c "exec ls ."; true'
is 'one that another replaces has no exit code' "$(jq -c '[.executed[1:][] | .exit_code]' <<< "$result")" '[null,0]'
judged 'nosuchprogram; true'
is 'what is not there was not started' "$(executed)" '[["bash",0]]'
"$NACRE" run --json 'ls' > "$scratch/out" 2> /dev/null
is 'without a policy it is put down all the same' "$(jq -c '[.executed[].argv[0]]' "$scratch/out")" '["ls"]'
judged 'head -c 200000 /dev/zero | tr "\\0" x > long; /bin/echo "$(head -c 100000 long)" > /dev/null; true'
is 'a long word is cut' "$(jq '.executed[] | select(.argv[0] == "/bin/echo") | .argv[1] | length < 5000' <<< "$result")" true
judged '/bin/echo $(seq 1 5000) > /dev/null; true'
is 'many words are counted' "$(jq -c '.executed[] | select(.argv[0] == "/bin/echo") | .argv_total' <<< "$result")" 5001

# More than an entry of the ledger has room for.
judged 'for i in {1..1500}; do /bin/true "$i" some more words that take room in a list; done'
is 'a long list is whole in the result' "$(jq '.executed | length' <<< "$result")" 1501
id=$(jq -r .correlation_id <<< "$result")
history=$("$JUDGE" history --format json "$id" 2> "$scratch/err" || "$JUDGE" history --json "$id")
like 'and has its number in the ledger' "$history" '*"executed_total":1501*'

if command -v make > /dev/null && command -v cc > /dev/null; then
    printf 'int f(void); int main(void) { return f(); }\n' > main.c
    printf 'int f(void) { return 0; }\n' > f.c
    printf 'all: prog\n\t./prog\nprog: main.o f.o\n\tcc -o $@ $^\n%%.o: %%.c\n\tcc -c -o $@ $<\n' > Makefile
    judged 'make -j2'
    is 'make: it succeeds' "$(jq -r .exit_code <<< "$result")" 0
    # What strace, which knows nothing of us, would count: each of these as often as the makefile says.
    is 'make: itself' "$(names | grep -c '^make$')" 1
    is 'make: each compiler driver' "$(names | grep -c '^cc$')" 3
    is 'make: what the drivers start' "$(names | grep -c '^cc1$')" 2
    is 'make: the assembler' "$(names | grep -c '^as$')" 2
    is 'make: what it has built' "$(names | grep -c '^prog$')" 1
    is 'make: all have ended well' "$(jq '[.executed[] | .exit_code | select(. != 0 and . != null)] | length' <<< "$result")" 0
    id=$(jq -r .correlation_id <<< "$result")
    like 'make: the history has them' "$("$JUDGE" history "$id")" '*programs*cc1*./prog*'
else
    skip 'make' 'there is none, or no compiler'
fi

if command -v npm > /dev/null; then
    printf '{"name": "x", "version": "1.0.0", "scripts": {"pretest": "ls -d .", "test": "node t.js"}}\n' > package.json
    printf 'require("child_process").execFileSync("/bin/echo", ["from node"], {stdio: "inherit"})\n' > t.js
    judged 'npm test'
    is 'npm: it succeeds' "$(jq -r .exit_code <<< "$result")" 0
    like 'npm: the scripts, and what they start' "$(jq -c '[.executed[].argv]' <<< "$result")" \
        '*"ls","-d","."*"node","t.js"*"/bin/echo","from node"*'
else
    skip 'npm' 'there is none'
fi

# Nothing secret is written down that stands among the words.
secret=ghp_$(head -c 400 /dev/urandom | tr -dc A-Za-z0-9 | head -c 36)
printf '/bin/true %s --password hunter2hunter2\n' "$secret" > s
judged 'bash s'
id=$(jq -r .correlation_id <<< "$result")
unlike 'a secret among the words is not in the ledger' "$("$JUDGE" history "$id")" "*$secret*"
refute 'nor anywhere below the state' grep -rqs "$secret" "$XDG_STATE_HOME"

done_testing

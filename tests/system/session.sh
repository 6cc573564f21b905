#!/usr/bin/env bash
# Sessions: what one text leaves for the next, and that nothing comes by them which a text could not bring.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
mkdir -p src/deep
state=$XDG_STATE_HOME/nacre/sessions

run() { nacre run --session one "$@"; } # in the session, without the policy

# --- what is kept ------------------------------------------------------------------------------

cat > "$scratch/leaves" <<'END'
cd src/deep; export CC=clang; plain="a  b"; list=(1 "2 3" $'x\ny'); declare -A map=([k]=v ["k z"]="q r")
declare -i n=5; readonly fixed=1; say() { echo "[$1]"; cat <<E
doc $1
E
}; set -o pipefail; shopt -s nullglob; odd=$'l1\nl2\t"$\\'; empty=
END
run "$(cat "$scratch/leaves")"
prints 'a text that leaves much' ''
run 'echo "$PWD"; echo "$CC|$plain|${list[1]}|${list[2]}|${map[k]}|${map[k z]}|$fixed|$odd|${empty-unset}"; say x; n=n+1; echo "$n"
    shopt -q nullglob && [[ :$SHELLOPTS: == *:pipefail:* ]] && echo settings; env | grep -c -E "^(CC|plain)="'
is 'all of it is there for the next' "$out" "$PWD/src/deep
clang|a  b|2 3|x
y|v|q r|1|l1
l2	\"\$\\|
[x]
doc x
6
settings
1"
is 'and nothing is said' "$code|$err" '0|'
run 'unset plain; unset -f say; set +o pipefail; cd ..; echo "$n"'
run 'echo "${plain-gone} $(type -t say) $PWD"; [[ :$SHELLOPTS: == *:pipefail:* ]] || echo off'
is 'what goes, goes' "$out" "gone  $PWD/src
off"
nacre run 'echo "${CC-none} $PWD"'
prints 'other runs have nothing of it' "none $PWD"
is 'each command is real at its own end' "$("$NACRE" run --json --session two true | jq -r .commit_point)" command
is 'unless it is staged' "$("$NACRE" run --json --stage --session two true | jq -r .commit_point)" commit
nacre run --session two 'echo "${CC-none} $PWD"'
prints 'nor have other sessions' "none $PWD"
other=$(mktemp -d)
nacre run --session one --workspace "$other" 'echo "${CC-none}"'
prints 'nor other workspaces' none
rm -r "$other"
run --cwd src/deep 'echo "$PWD"'
prints '--cwd goes before' "$PWD/src/deep"
run 'x=kept; exit 7'
exits 'the exit status is the own' 7
run 'echo "$x"; false'
is 'and what was left by then is kept' "$out|$code" 'kept|1'
run 'cd ..; cd ..; pwd'
prints 'to the top' "$PWD"

# --- what is not -------------------------------------------------------------------------------

run 'x=lost; exec true'
like 'a shell that was replaced' "$err" 'nacre: warning: the session is as it was before: *'
run 'x=lost; trap "echo bye" EXIT'
is 'an EXIT trap works' "$out" bye
like 'and the session is as before' "$err" 'nacre: warning: the session is as it was before: *EXIT trap'
run --timeout 1s 'x=lost; sleep 60'
exits 'past the time limit' 124
run 'echo "$x"'
prints 'nothing of these was kept' kept
run 'PATH=/evil:$PATH; IFS=,; BASH_ENV=/evil; PS4="\$(evil)"; LD_PRELOAD=/evil; HOME=/evil; PROMPT_COMMAND=evil; export PATH BASH_ENV PS4 LD_PRELOAD HOME; builtin cd /tmp'
run 'echo "${#IFS} ${BASH_ENV-} ${LD_PRELOAD-} ${PROMPT_COMMAND-}"; case $PATH$HOME$PS4 in *evil*) echo bad;; esac; pwd'
is 'variables that change the shell itself are not' "$out" "3   
$PWD"
like 'nor a directory outside, and that is told' "$err" "*left in '/tmp'*"
run 'declare -n ref=x; true'
like 'namerefs are not kept, and that is told' "$err" 'nacre: warning: not kept for the session: ref'
run 'mkdir -p src/new; cd src/new'
rm -r src/new
run pwd
is 'a directory that is gone is none' "$out" "$PWD"

# --- sizes, names, several at once -------------------------------------------------------------

run 'x=before'
run 'x=$(head -c 300000 /dev/zero | tr "\0" a); true'
like 'more than fits is not kept' "$err" 'nacre: warning: the session is as it was before: it is larger *'
run 'yes flood >&63 & sleep 0.5; true'
like 'nor a flood' "$err" '*nacre: warning: the session is as it was before: *'
run 'echo "$x"'
prints 'and the state is that of before' before
for name in '' ../x /x .x -x 'a b' "$(printf 'a%.0s' {1..65})" x.lock $'x\ny'; do
    nacre run --session="$name" true
    if [ "$code" = 125 ]; then ok "no session '${name:0:20}'"; else not_ok "no session '$name'" "code $code"; fi
done
nacre run --workspace :memory: --session one true
exits 'a workspace in memory has none' 125
"$NACRE" run --session one 'echo up; sleep 2; y=slow' > "$scratch/slow" &
wait_until 10 grep -q up "$scratch/slow"
run 'echo never'
complains 'one at a time' 125 "nacre: session 'one' is in use by another run"
wait
run 'echo "$y"'
prints 'and the first is kept' slow
is 'for its owner alone' "$(find "$state" -type f -perm /077 | wc -l) $(find "$state" -mindepth 1 -type d -perm /077 | wc -l)" '0 0'

nacre session list
like 'session list' "$out" 'one  *'
nacre session list --json
check 'as JSON' jq -e 'map(.name) == ["one", "two"] and (.[0].working_dir | length) > 1' "$scratch/out"
nacre session show one
like 'session show' "$out" "*y='slow'*"
nacre session rm one
exits 'session rm' 0
run 'echo "${y-none}"'
prints 'it begins anew' none
nacre session rm nothing
complains 'one that is not there' 1 "nacre: session: there is no session 'nothing' here"
nacre session bogus
exits 'a wrong call' 2

# In the background, and in the record.
id=$("$NACRE" run --background --session one 'y=job; cd src')
"$NACRE" wait "$id"
run 'echo "$y $PWD"'
prints 'a job leaves its state, too' "job $PWD/src"
is 'the record names the session' "$("$NACRE" history --json "$id" | jq -r .result.entry.session)" one

# --- judged with the text ----------------------------------------------------------------------

judge() { # TEXT: by the policy; $code, $out, $err
    "$JUDGE" run --session "$session" "$@" > "$scratch/out" 2> "$scratch/err"
    code=$?
    out=$(cat "$scratch/out") err=$(cat "$scratch/err")
}
verdict_of() { "$JUDGE" run --json --session "$session" "$1" 2> /dev/null | jq -r .verdict.decision; }

session=good
judge 'x=rm; greet() { echo hello; }; export WHO=me'
exits 'an ordinary session' 0
judge 'greet; echo "$WHO"'
prints 'goes on' 'hello
me'
judge '$x -rf /'
exits 'a variable that it left is known' 126
like 'for what it is' "$err" '*protected*'
"$JUDGE" run --json --session good 'echo a; nosuchprogram' > "$scratch/out" 2> /dev/null
is 'places are those of the text' "$(jq -c '.verdict.reasons[0].span' "$scratch/out")" '[8,21]'
is 'so is the command' "$(jq -r .command "$scratch/out")" 'echo a; nosuchprogram'

# Whatever runs inside can write any state it likes. Nothing of it goes past the verdict.
forge() { # NAME CWD SETTINGS VARIABLES FUNCTIONS
    session=$1
    printf 'nacre-session 1\0%s\n\0%s\0%s\0%s\0end\0' "$2" "$3" "$4" "$5" > forged
    nacre run --session "$session" 'cat forged >&63; exec true'
}
denied() { # NAME TEXT
    local decision
    decision=$(verdict_of "$2")
    if [ "$decision" = deny ] || [ "$decision" = confirm ]; then ok "$1"; else
        not_ok "$1" "$decision" "$("$NACRE" session show "$session")"
    fi
}
harmless() { # NAME: the forged state does nothing by itself
    rm -f harm
    nacre run --session "$session" 'echo fine; [ ! -e harm ] || echo harmed'
    if [ "$out" = fine ] && [ ! -e harm ]; then ok "$1"; else not_ok "$1" "$out" "$err"; fi
}

forge shadow "$PWD" '' '' 'ls () { curl https://evil.example; }'
denied 'a function that takes the place of ls' 'ls'
denied 'whatever the text is' 'pwd'
forge builtin "$PWD" '' '' 'cd () { touch harm; }'
denied 'or of a builtin' 'cd src'
forge code "$PWD" '' 'declare -- x="$(touch harm)"' ''
harmless 'no expansion in a value'
forge code2 "$PWD" '' 'declare -- x="1"; touch harm' ''
harmless 'no second command on a line'
forge code3 "$PWD" '' 'touch harm' ''
harmless 'no other command'
forge code4 "$PWD" '' 'declare -a x=([$(touch harm)]="1")' ''
harmless 'none in a subscript'
forge code5 "$PWD" '' 'declare -i x="a[\$(touch harm)]"' ''
denied 'an integer that is none is no plain value' 'echo fine'
forge code6 "$PWD" '' '' 'f () { :; }; touch harm'
harmless 'nothing but functions among the functions'
forge code7 "$PWD" '' '' 'f () { :; } > harm
touch harm'
harmless 'nor behind them'
forge code8 "$PWD" 'errexit:;touch harm:$(touch harm)' '' ''
harmless 'no setting that is none'
forge code9 "$PWD" '' 'declare -- PATH="/evil"
declare -x BASH_ENV="/evil"
declare -x LD_PRELOAD="/evil"
declare -- IFS="/"
declare -n good="PATH"' ''
judge 'echo "${BASH_ENV-none} ${LD_PRELOAD-none} ${#IFS}"; case $PATH in *evil*) echo bad;; esac'
prints 'no variable that changes the shell' 'none none 3'
forge aliases "$PWD" 'expand_aliases:posix:histexpand:extglob' '' ''
judge '[[ :$SHELLOPTS:$BASHOPTS: != *:expand_aliases:* && :$SHELLOPTS: != *:posix:* ]] && echo off'
prints 'no setting that changes how text is read' off
forge pythonpath "$PWD" '' 'declare -x PYTHONPATH="/evil"' ''
denied 'a variable that changes a program is asked about' 'ls'
forge outside /etc '' '' ''
judge pwd
is 'a directory outside is none' "$out" "$PWD"
ln -s /etc link
forge link "$PWD/link" '' '' ''
judge pwd
is 'nor one behind a link' "$out" "$PWD"
forge dots "$PWD/src/../../.." '' '' ''
judge pwd
is 'nor one with dots' "$out" "$PWD"
forge newline "$PWD"$'\nx' '' '' ''
judge pwd
is 'nor one that is not there' "$out" "$PWD"
for bytes in '' 'nacre-session 1' 'nacre-session 1\0a\0b\0c\0d' 'nacre-session 1\0a\0b\0c\0d\0end\0more\0' \
    'nacre-session 2\0/\n\0\0\0\0end\0' '\0\0\0\0\0\0' 'nacre-session 1\0/\n\0\0declare -- x="\0\0end\0'; do
    session=torn
    printf '%b' "$bytes" > forged
    nacre run --session torn 'cat forged >&63; exec true'
    judge 'echo "${x-none}"'
    is "torn state: $bytes" "$out" none
done
seq -f 'declare -- v%g="x"' 20000 > lines
forge many "$PWD" '' "$(cat lines)" ''
like 'too many variables' "$err" 'nacre: warning: the session is as it was before: *'
forge deep "$PWD" '' '' "f () { $(printf '( %.0s' {1..500}) : $(printf ') %.0s' {1..500}); }"
judge 'echo fine'
prints 'too deep a function' fine

nacre run --session shown 'y=2'
nacre session show --json shown
check 'show --json' jq -e --arg d "$PWD" '.name == "shown" and .working_dir == $d and .text == "y=\u00272\u0027\n"' "$scratch/out"
nacre session show nothing
complains 'there is nothing to be shown of a session that is not there' 1 "nacre: session: there is no session 'nothing' here"

done_testing

#!/usr/bin/env bash
# The preset lisp-kernel, feature by feature: its ten programs, its metacharacters, its texts and codes, its events and its chat.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
NACRE=$JUDGE
export XDG_CONFIG_HOME=$scratch/config
mkdir -p "$scratch/config/nacre"
echo 'extends: lisp-kernel' > "$scratch/config/nacre/config.yaml"
value() { jq -r "$1" "$scratch/out"; }
plain='ERROR - Security Violation: Dangerous metacharacters detected.'
unlisted='ERROR - Command not in security whitelist.'

nacre status --json
is 'the preset is had with one line' "$(value .preset)" lisp-kernel
nacre policy show --json
is 'the ten programs' "$(value '[.policy.shell.allow[][0]] | sort | join(" ")')" 'cat date echo git grep ls node python3 rg sbcl'

# Whitelist: each of the ten, and nothing else.
for program in ls git rg grep date echo cat node python3 sbcl; do
    nacre test "$program x"
    exits "$program is permitted" 0
done
for command in id 'rm x' 'sudo ls' '/bin/sh x' './ls' 'bash -c id'; do
    nacre run --json "$command"
    is "not on the list: $command" "$(value '[.status, .exit_code, .stdout] | @json')" '["denied",1,""]'
done
for command in 'PATH=. ls' 'env PATH=. ls' 'LD_PRELOAD=./x.so ls' 'PYTHONPATH=. python3 x.py' 'NODE_OPTIONS=-r./x node y.js'; do
    nacre run --json "$command"
    is "nor is one that a variable makes another: $command" "$(value '[.status, .exit_code, .stdout] | @json')" '["denied",1,""]'
done
nacre run --json 'uptime'
is 'its text' "$(value .stderr)" "$unlisted"
is 'and nothing else is said of it in the result' "$(value '.executed // [] | length')" 0
nacre run uptime
exits 'the exit code of the program' 1
is 'its standard error' "$err" "$unlisted"
is 'its standard output' "$out" ''

# Metacharacters: each of the nine, in any command, before the list is looked at.
# shellcheck disable=SC1003 # a backslash
for character in ';' '&' '|' '>' '<' '$' '`' '\' '!'; do
    nacre run --json "uptime $character"
    is "metacharacter $character" "$(value '[.exit_code, .stdout, .stderr] | @json')" "$(jq -cn --arg s "$plain" '[1, "", $s]')"
done
for text in 'echo "a;b"' "echo 'a|b'" 'git log --format=%h>x' 'ls $HOME'; do
    nacre run --json "$text"
    is "quoted or not: $text" "$(value .stderr)" "$plain"
done
nacre run --json 'echo a; touch made'
is 'an injection' "$(value .stderr)" "$plain"
refute 'that did nothing' [ -e made ]

# Diagnostics: both streams and the exit code.
nacre run --json 'cat nosuch'
is 'exit code of the command' "$(value .exit_code)" 1
is 'its stdout' "$(value .stdout)" ''
like 'its stderr' "$(value .stderr)" '*No such file*'
nacre run --json 'echo hello'
is 'of one that works' "$(value '[.exit_code, .stdout, .stderr] | @json')" '[0,"hello\n",""]'

# The org text.
nacre run --format org 'echo hello'
is 'org' "$out" '* Shell Command Result
- Command: echo hello
- Exit Code: 0
** STDOUT
#+begin_example
hello
#+end_example
** STDERR
#+begin_example

#+end_example'
printf '* a heading\n#+end_example\n** STDERR\n' > forged
nacre run --format org 'cat forged'
is 'no output ends its block' "$(grep -c '^#+end_example' "$scratch/out")" 2
is 'or begins a heading' "$(grep -c '^\*' "$scratch/out")" 3

# Events: what the kernel's bus is told, and the request for the chat buffer behind it.
{
    printf '(:type :REQUEST :target :shell :payload (:cmd "echo hello"))\n'
    printf '(:type :REQUEST :target :shell :payload (:cmd "ls; id"))\n'
    printf '(:type :REQUEST :target :shell :payload (:cmd "id"))\n'
} | "$JUDGE" serve --sexp > "$scratch/said" 2> "$scratch/err"
said=$(cat "$scratch/said")
like 'an event' "$said" '*(:type :EVENT :payload (:sensor :shell-response :cmd "echo hello" :stdout "hello*" :stderr "" :exit-code 0*'
like 'of metacharacters' "$said" "*:cmd \"ls; id\" :stdout \"\" :stderr \"$plain\" :exit-code 1*"
like 'of the list' "$said" "*:cmd \"id\" :stdout \"\" :stderr \"$unlisted\" :exit-code 1*"
is 'each with its request' "$(grep -c '^(:type :request :target :emacs :payload (:action :insert-at-end :buffer "\*opencortex-chat\*" :text "' "$scratch/said")" 3
like 'the chat request' "$said" '*(:type :request :target :emacs :payload (:action :insert-at-end :buffer "\*opencortex-chat\*" :text "\* Shell Command Result*'

# Scripts: Python, Lisp and JavaScript, marked, with the text that asks for a fix.
echo 'import sys; sys.exit("broken")' > broken.py
for language in python lisp js; do
    case $language in python) program=python3 text='print(6*7)' ;; lisp) program=sbcl text='(print (* 6 7))' ;; js) program=node text='console.log(6*7)' ;; esac
    if ! command -v "$program" > /dev/null; then
        skip "a script in $language" "$program is not installed"
        continue
    fi
    nacre script --json --lang $language - <<< "$text"
    is "a script in $language" "$(value '[.exit_code, .synthesis] | @json')" '[0,true]'
    like 'its output' "$(value .stdout)" '*42*'
done
nacre script --json --lang python broken.py
is 'one that fails' "$(value '[.exit_code, .synthesis] | @json')" '[1,true]'
like 'what a model is asked then' "$(value .analysis)" '*TOOL SYNTHESIS RESULT:*(Exit: 1)*STDOUT: *STDERR: broken*TASK: If the command failed (Exit != 0), analyze the STDERR and propose a FIX for the script.*'
{
    printf '(:type :REQUEST :target :shell :payload (:language :python :content "import sys; sys.exit(\\"broken\\")"))\n'
    printf '(:type :REQUEST :target :shell :payload (:cmd "echo plain"))\n'
} | "$JUDGE" serve --sexp > "$scratch/said" 2> "$scratch/err"
like 'as an event' "$(cat "$scratch/said")" '(:type :EVENT :payload (:sensor :shell-response :cmd "python3 *:stdout "" :stderr "broken*:exit-code 1 :synthesis-p t *'
like 'whose request has that text' "$(cat "$scratch/said")" '*(:type :request :target :emacs *:text "
TOOL SYNTHESIS RESULT:
Command: python3 * (Exit: 1)*propose a FIX for the script.
If it succeeded, use the STDOUT to complete the original goal.*'
like 'a command is no synthesis' "$(cat "$scratch/said")" '*:cmd "echo plain" *:synthesis-p nil*'
done_testing

#!/usr/bin/env bash
# `nacre serve --sexp`: forms in, events out that Lisps read, whatever comes.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

serve() { "$JUDGE" serve --sexp "$@" 2> "$scratch/err"; }
cmd() { printf '(:type :REQUEST :target :shell :payload (:cmd "%s"))\n' "$1"; }

{
    printf '; a comment ( "\n#| another #| within |# ( |#\n'
    cmd 'echo \"a\\\\b\" > f; cat f'
    printf "(:TYPE :Request\n :id :one 'ignored nil\n :payload (:CMD \"cat\n\" :stdin \"in\"))"
    cmd 'printf \"\\033[31mred\\r\\000\\377é\\n\"'
    cmd 'nosuchcommand'
    printf '(:type :REQUEST :payload (:action :fs-hash))(:type :REQUEST :payload (:action :configure :allow ()))\n'
    cmd 'echo no'
    printf '(:type :REQUEST :payload (:action :configure :allow ("echo") :limits (:memory "64MB" :processes 3) :network :off :timeout-ms 1000 :final t))\n'
    cmd 'echo yes'
    printf '(:type :REQUEST :payload (:language :python :content "print(1)" :args ("a")))\n'
    printf '(:type :REQUEST :payload (:action :reset))\n'
} | serve --workspace :memory: > "$scratch/said"
is 'it ends with its input' $? 0
like 'a command' "$(head -2 "$scratch/said")" '(:type :EVENT :payload (:sensor :shell-response :cmd "echo *" :stdout "a*" :stderr "" :exit-code 0 :synthesis-p nil *:decision :allow*:fs-hash "*'
like 'keywords in any case, forms over lines, an id' "$(cat "$scratch/said")" '*(:type :EVENT :id :one :payload (:sensor :shell-response :cmd "cat*:stdout "in"*'
is 'no control character but newlines and tabs comes out' "$(tr -d '\n\t\040-\176\200-\377' < "$scratch/said" | wc -c)" 0
check 'and all of it is UTF-8' iconv -f utf-8 -t utf-8 "$scratch/said"
like 'an empty list allows nothing' "$(grep 'echo no' "$scratch/said")" '*:exit-code 126*:status :denied*'
like 'a mandate' "$(grep shell-configure "$scratch/said" | tail -1)" '*:mandate (:allow ("echo") :deny nil :limits ("memory=64MB" "processes=3" "timeout_max=1000ms") :network "off" :final t)*'
like 'what it allows' "$(grep -A1 'cmd "echo yes"' "$scratch/said")" '*:stdout "yes*'
like 'a script is one' "$(grep 'synthesis-p t' "$scratch/said")" '*:status :denied*'

# What is broken is told with its place, and the next form is read.
{
    printf 'word "string" ) #.(cmd) (a . b) (:x #c) (:y |z|) (:q \\w)\n'
    printf '(:type :REQUEST :payload (:cmd echo))\n(:type :REQUEST :payload (:cmd :echo))\n(:type :REQUEST :payload ())\n(:type :EVENT)\n()\n'
    printf '(:type :REQUEST :target :emacs :payload (:cmd "echo"))\n(:type :REQUEST :payload (:cmd "a\\nb"))\n'
    printf '(:type :REQUEST :payload (:cmd "echo" :cmd "cat"))\n(:type :REQUEST :payload (:cmd "\377"))\n(:type :REQUEST :payload (:action :nosuch))\n'
    printf '%0.s(' $(seq 100000)
    printf '%0.s)' $(seq 100000)
    printf '(:type :REQUEST :payload (:cmd "'
    head -c 9000000 /dev/zero | tr '\0' x
    printf '"))\n'
    cmd 'echo still here'
    printf '(:type :REQUEST :payload (:cmd "never closed'
} | serve --workspace :memory: > "$scratch/said"
is 'the server lives through all of it' "$? $(grep -c ':stdout "still here' "$scratch/said")" '0 1'
is 'each is told' "$(grep -c '^(:type :EVENT :payload (:sensor :shell-error :message ' "$scratch/said")" 21
like 'with its place' "$(head -1 "$scratch/said")" '*"a form is a list" :code -32700 :line 1 :column 1))'
like 'the last, too' "$(tail -1 "$scratch/said")" '*the input ends within the form*'
unlike 'nothing of it ran' "$(cat "$scratch/said")" '*:status :ok*:status :ok*'

# Lisp reads what comes out.
if command -v sbcl > /dev/null; then
    {
        cmd 'printf \"q\\\"uote back\\\\\\\\slash \\001\\n\"; cat <<< \"#.(error 1) |x| (\"'
        printf '(:type :REQUEST :payload (:action :history))(:type :REQUEST :payload (:action :verify))(:bad'
    } | serve --workspace :memory: > "$scratch/said"
    cat > "$scratch/read.lisp" << 'LISP'
(with-open-file (in (second sb-ext:*posix-argv*) :external-format :utf-8)
  (let ((*read-eval* nil))
    (loop for form = (read in nil :eof) until (eq form :eof)
          do (format t "~(~a~) " (getf (getf form :payload) :sensor)))))
LISP
    is 'sbcl reads it' "$(sbcl --script "$scratch/read.lisp" "$scratch/said" 2>&1)" 'shell-response shell-history shell-verify shell-error '
else
    skip 'sbcl reads it' 'sbcl is not installed'
fi

# A chat, where a preset wants one.
cat > "$scratch/chat.yaml" << 'YAML'
messages: {chat: {target: emacs, action: insert-at-end, buffer: "*chat*"}}
YAML
printf '(:type :REQUEST :payload (:cmd "echo; echo \\"* x\\""))' | serve --config "$scratch/chat.yaml" --workspace :memory: > "$scratch/said"
like 'messages.chat: the result as org, besides' "$(cat "$scratch/said")" '(:type :EVENT*
(:type :request :target :emacs :payload (:action :insert-at-end :buffer "[*]chat[*]" :text "[*] Shell Command Result
- Command: echo; echo \\"[*] x\\"
- Exit Code: 0
[*][*] STDOUT
#+begin_example

,[*] x
#+end_example
[*][*] STDERR
#+begin_example

#+end_example"))'

printf 'extends: full-auto\nmessages: {chat: {target: emacs, action: insert-at-end, buffer: "*chat*"}}\n' > "$scratch/chat.yaml"
{
    printf '(:type :REQUEST :payload (:language :python :content "print(\\"* evil\\")\nprint(\\"#+begin_src\\")"))\n'
    cmd 'sudo x'
} | serve --config "$scratch/chat.yaml" --workspace :memory: > "$scratch/said"
said=$(sed -n '/^(:type :request/,$p' "$scratch/said")
like 'what a script printed is nothing of org'\''s either' "$said" $'*\n,[*] evil\n,#+begin_src\n*'
like 'what never ran says why' "$said" $'*[*] Shell Command Result\n- Command: sudo x\n*STDERR\n#+begin_example\n\'sudo\' is denied\n#+end_example*'

# A keyword twice.
{
    printf '(:payload (:cmd "echo one") :type :REQUEST :payload (:cmd "echo two"))\n'
    printf '(:type :REQUEST :target :emacs :target :shell :payload (:cmd "echo three"))\n'
    printf '(:type :REQUEST :payload (:action :fs-hash :action :reset))\n'
} | serve --workspace :memory: > "$scratch/said"
is 'a keyword twice is refused' "$(grep -c ':sensor :shell-error ' "$scratch/said") $(grep -vc ':sensor :shell-error ' "$scratch/said")" '3 0'

# The client leaves.
tag=$(unique)
printf 'extends: full-auto\n' > "$scratch/free.yaml"
mkfifo "$scratch/in"
"$JUDGE" serve --sexp --workspace :memory: --config "$scratch/free.yaml" < "$scratch/in" > "$scratch/said" 2>&1 &
pid=$!
exec 5> "$scratch/in"
cmd "sleep $tag" >&5
check 'control: it runs' wait_until 10 alive "^sleep $tag"
kill "$pid"
wait "$pid"
is_gone 'the word to stop ends what runs' "$tag"
exec 5>&-
check 'the ledger verifies' "$JUDGE" verify
done_testing

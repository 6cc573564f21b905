#!/usr/bin/env bash
# nacre parse: trees, canonical texts, refusals, batches; and that `run` runs what was read.
# shellcheck disable=SC2016 # texts for another shell are in single quotes
. "$(dirname "$0")/../lib.sh"

# --- for people ---

nacre parse 'ls $(whoami) > "a b"'
prints 'the tree is the default' "simple
  words:
    word \"ls\"
    word
      command
        list:
          simple
            words:
              word \"whoami\"
  redirects:
    redirect > fd 1
      target:
        quoted \"a b\""
nacre parse --canonical 'echo "hi $USER" `date` \a'
prints '--canonical' "echo \"hi \${USER}\" \$(date) 'a'"
nacre parse --tree --canonical 'a'
prints 'both' $'simple\n  words:\n    word "a"\na'
nacre parse -- echo 'a  b' '$x'
like 'words behind --' "$out" '*quoted "a  b"*quoted "$x"*'
printf 'a | b' > "$scratch/script"
nacre parse --canonical - < "$scratch/script"
prints 'standard input' 'a | b'
printf 'for i\ndo echo $i\ndone\n' > "$scratch/script"
nacre parse --canonical -f "$scratch/script"
prints 'a file; lines stay where they were' $'for i in "${@}"; do\necho ${i}\ndone'
nacre parse ''
prints 'nothing is nothing' ''

# --- refusals ---

nacre parse 'echo $(ls'
exits 'what bash would refuse' 1
is 'has a place and a caret' "$err" 'nacre: parse: line 1, column 6: no '"')'"' closes this
  echo $(ls
       ^'
nacre parse $'true\n\tif x; done'
exits 'a later line' 1
is 'counts for all' "$err" $'nacre: parse: line 2, column 8: unexpected \'done\': expected \'then\'\n  \tif x; done\n  \t      ^'
nacre parse 'é ü )'
like 'columns are characters' "$err" 'nacre: parse: line 1, column 5: *'
nacre parse $'echo \e[31m $('
unlike 'nothing of it reaches the terminal as it is' "$err" $'*\e*'
nacre parse a b
exits 'two texts' 2
nacre parse -f "$scratch/script" x
complains 'a file and a text' 2 'nacre: parse: *not both'
nacre parse -f /nonexistent/file
complains 'no such file' 2 "nacre: parse: '/nonexistent/file': No such file*"
nacre parse --batch x
complains 'a batch and a text' 2 'nacre: parse: --batch reads*'

# --- for programs ---

nacre parse --json 'FOO=1 $x; ls | "w"c; >f'
is 'names in order, null for one that is not known' "$(jq -c .commands <<< "$out")" '[null,"ls","wc"]'
is 'ok' "$(jq -c .ok <<< "$out")" true
is 'canonical' "$(jq -r .canonical <<< "$out")" "FOO=1 \${x}; ls | 'w'c; > f"
is 'spans' "$(jq -c '.tree[1].pipelines[0].commands[0].span' <<< "$out")" '[10,12]'
nacre parse --json 'echo $('
is 'an error' "$(jq -c . <<< "$out")" '{"ok":false,"error":{"line":1,"column":6,"message":"no '"')'"' closes this"}}'
exits 'and its exit code' 1

cat > "$scratch/batch" << 'END'
"ls | wc"
"echo $("
5
not json
"a\u0000b"
"caf\u00e9 `x`"

"a\nb"
END
nacre parse --batch < "$scratch/batch"
exits 'a batch is 0 whatever the texts' 0
is 'a line for each, in order' "$(jq -c '[.ok, .commands, .canonical]' <<< "$out")" '[true,["ls","wc"],"ls | wc"]
[false,null,null]
[false,null,null]
[false,null,null]
[false,null,null]
[true,["café","x"],"café $(x)"]
[false,null,null]
[true,["a","b"],"a\nb"]'
like 'what is no JSON string is said so' "$(sed -n 3p <<< "$out")" '*not a JSON string*'
like 'a NUL has its place' "$(sed -n 5p <<< "$out")" '*"column":2*NUL*'
nacre parse --batch <<< '"a"'
is 'canonical is always there, the tree only when asked for' "$out" '{"ok":true,"commands":["a"],"canonical":"a"}'

# --- every command is seen, wherever it hides ---

while IFS= read -r text; do
    nacre parse --json "$(printf '%b' "$text")"
    if jq -e '.commands | index("canary")' <<< "$out" > /dev/null; then ok "seen in: $text"; else
        not_ok "seen in: $text" "$out" "$err"
    fi
done << 'END'
echo $(canary)
echo `echo \\`canary\\``
x=abc; echo ${x:$(canary):1}
echo "${#a[$(canary)]}"
echo $(( 1 + $(canary) ))
echo $[ 1 + `canary` ]
cat <<< $(canary)
cat > >(canary) < <(x)
case $(canary) in *) ;; esac
[[ x == @($(canary)|y) ]]
a=(1 $(canary) [3]=x)
m["$(canary)"]=1
echo {a,$(canary)}
echo "\\\\$(canary)"
time -p -- ! canary
coproc N { canary; }
f() ( canary )
true &\\\n& canary
cat <<E\n$(canary)\nE
cat <<'E'\n$(x)\nE\ncanary
echo "${x:-$(echo "}")}" "${x:-`echo "}"`}"; canary
if ! { canary; } then :; fi
END
nacre parse --json 'echo "<(canary)" \$\(canary\) '"'"'$(canary)'"'"' # $(canary)'
is 'and none where there is none' "$(jq -c .commands <<< "$out")" '["echo"]'

# --- what runs is what was read ---

cd "$(mktemp -d "$scratch/ws.XXXX")" || exit
nacre run --json 'printf %s "a b" c'
is 'args of a plain command are its words' "$(jq -c .args <<< "$out")" '["printf","%s","a b","c"]'
nacre run --json 'echo `echo $((1+1))` | cat'
is 'args of another are the canonical text' "$(jq -c .args <<< "$out")" \
    '["bash","-c","--","echo $(echo $((1+1))) | cat"]'
is 'and that is what ran' "$(jq -r .stdout <<< "$out")" 2
nacre run $'echo $LINENO\n# c\n\necho \\\n$LINENO\ncat <<-E\n\tx\n\tE\nnope'
is 'lines are those of the text' "$out" $'1\n5\nx'
like 'in errors, too' "$err" '*line 9: nope:*'
nacre run $'touch before\nif'
exits 'a text of which a later line cannot be read' 126
refute 'runs not at all' test -e before
nacre run --json 'echo $((('
is 'a refusal is by the rule parse' "$(jq -c '[.status, .policy_rule_matched, .exit_code]' <<< "$out")" \
    '["denied","parse",126]'

done_testing

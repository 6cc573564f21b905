#!/usr/bin/env bash
# Everything about the command line but running: help, status, doctor, plan, completions, manual,
# terminals.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
here=$PWD
commands='run plan status doctor completion'
escape=$'*\e*'

# --- help -------------------------------------------------------------------------------------

version=$(sed -n 's/^Version: //p' "$STAGE/usr/local/lib/pkgconfig/nacre.pc")
nacre --version
prints '--version is that of the library' "nacre $version"
like 'a version of three numbers' "$version" '[0-9]*.[0-9]*.[0-9]*'
nacre --help
exits '--help' 0
help=$out
like 'says how to call it' "$help" 'usage: nacre COMMAND*'
for command in $commands; do
    like "the help has $command" "$help" $'*\n'"  $command  "*
    nacre "$command" --help
    exits "$command --help" 0
    like "$command --help says how to call it" "$out" "usage: nacre $command*"
    text=$out
    nacre "$command" -h
    is "$command -h is the same" "$out" "$text"
    nacre help "$command"
    is "help $command is the same" "$out" "$text"
    nacre shell "$command" --help
    is "shell $command --help is the same" "$out" "$text"
    is "no line of it is wider than a terminal" "$(awk 'length > 80' <<< "$text")" ''
done
for call in -h help 'shell --help' 'shell -h'; do
    # shellcheck disable=SC2086 # several words
    nacre $call
    is "nacre $call is the same" "$out$code" "${help}0"
done
nacre
complains 'nacre alone' 2 'nacre: no command given; `nacre --help` lists them'
nacre shell
complains 'nacre shell alone' 2 'nacre: no command given; *'
nacre rnu
complains 'an unknown command, and what was meant' 2 "nacre: unknown command 'rnu'; did you mean 'run'?"
nacre zzzzzz
complains 'an unknown command that is like none' 2 "nacre: unknown command 'zzzzzz'; *--help*"
nacre help zzzzzz
complains 'help for an unknown command' 2 "nacre: *'zzzzzz'*"
nacre --bogus
complains 'an unknown option' 2 "nacre: unknown *'--bogus'*"
nacre $'\e[31mx'
unlike 'escape codes in a wrong word do not pass' "$err" "$escape"

# --- status, doctor, plan ---------------------------------------------------------------------

nacre status
exits 'status' 0
like 'status names the workspace' "$out" "*workspace   \"$here\""$'\n*'
nacre status --json
check 'status --json' jq -e --arg v "$version" --arg w "$here" '.version == $v and .workspace == $w and .network == "off" and
    (.namespaces | sort) == ["cgroup", "ipc", "mount", "net", "pid", "user", "uts"] and
    .profile == "dev" and .limits == {timeout_ms: 120000, timeout_max_ms: 600000, cpu_ms: 60000,
        memory_bytes: 536870912, processes: 5, files: 100, disk_bytes: 1073741824, output_bytes: 1048576}' "$scratch/out"
check 'its launcher is there' test -x "$(jq -r .launcher "$scratch/out")"
is 'status --json is one line' "$(wc -l < "$scratch/out")" 1
mkdir -p ws/sub
nacre status --json -w ws
is 'status -w' "$(jq -r .workspace "$scratch/out")" "$here/ws"

nacre doctor
exits 'doctor finds all that is required' 0
like 'and says so' "$out" '*everything required is present'
unlike 'without escape codes' "$out" "$escape"
nacre doctor --json
exits 'doctor --json' 0
check 'is an object' jq -e '.ok == true and (.probes | length > 5) and (.probes | all(
    (.name | type) == "string" and (.need == "required" or .need == "wanted") and (.present | type) == "boolean" and
    (.detail | type) == "string" and ((.remedy | type) == "string" or .remedy == null)))' "$scratch/out"
check 'everything required is present in it' jq -e '.probes | map(select(.need == "required")) | length > 2 and all(.present)' "$scratch/out"

nacre plan -w ws --cwd sub 'touch ran; "quoted $x"'
exits 'plan' 0
like 'plan shows the workspace' "$out" $'*\n'"bind "*"\"$here/ws\""*owned*
like 'and the canonical text, quoted' "$out" '*touch ran; \\\"quoted ${x}\\\"*'
nacre plan -w ws --cwd sub --json 'touch ran; "quoted $x"'
exits 'plan --json' 0
is 'plan --json is one line' "$(wc -l < "$scratch/out")" 1
check 'is an array of steps' jq -e 'type == "array" and length > 30 and all(type == "object")' "$scratch/out"
plan=$(cat "$scratch/out")
nacre plan -w ws --cwd sub 'touch ran; "quoted $x"'
is 'text and JSON have as many steps' "$(wc -l < "$scratch/out")" "$(jq length <<< "$plan")"
values() { jq -c "[.[] | [.[] | tostring] | join(\" \")] | map(select($1))" <<< "$plan"; }
like 'the program is bash' "$(values 'startswith("program ") or startswith("arg ")')" \
    '*"program /*bash"*"arg bash","arg -c","arg --","arg touch ran; \\"quoted ${x}\\""]'
like 'it starts in --cwd' "$(values 'startswith("cwd ")')" "*$here/ws/sub*"
like 'all namespaces are new' "$(values 'startswith("unshare ")')" '*user*mount*pid*net*ipc*uts*cgroup*'
unlike 'no step shows a home' "$(values 'startswith("bind ")')" "*\"bind */home*"
unlike 'nor /root' "$(values 'startswith("bind ")')" '*"bind /root*'
check 'nothing ran' test ! -e ws/ran -a ! -e ws/sub/ran
cd ws || exit
is 'the plan of one text is one plan' "$("$NACRE" plan --json x | sha256sum)" "$("$NACRE" plan --json x | sha256sum)"
cd "$here" || exit

# --- completions ------------------------------------------------------------------------------

# What bash offers for these words; the last is the one that is being typed.
complete_bash() {
    bash --norc -c '
        source "$0" || exit 1
        spec=$(complete -p nacre) || exit 1
        name=${spec##* -F }; name=${name%% *}
        COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMP_LINE="$*" COMP_POINT=${#COMP_LINE} COMPREPLY=()
        "$name" nacre "${@: -1}" "${@: -2:1}"
        printf "%s\n" "${COMPREPLY[@]}" | sed "s/ *$//" | sort' \
        "$STAGE/usr/local/share/bash-completion/completions/nacre" "$@"
}
is 'bash: nacre ru' "$(complete_bash nacre ru)" run
for command in $commands; do
    like "bash: nacre, then $command" $'\n'"$(complete_bash nacre '')"$'\n' $'*\n'"$command"$'\n'*
done
offered=$'\n'"$(complete_bash nacre run --)"$'\n'
for option in workspace cwd timeout limit keep json format help; do
    like "bash: nacre run --$option" "$offered" $'*\n'"--$option"*
done
is 'bash: nacre run --ke' "$(complete_bash nacre run --ke)" --keep
is 'bash: nacre run --keep' "$(complete_bash nacre run --keep '')" $'both\nhead\ntail'
is 'bash: nacre run --format j' "$(complete_bash nacre run --format j)" json
is 'bash: nacre completion' "$(complete_bash nacre completion '')" $'bash\nfish\nzsh'
is 'bash: nacre shell ru' "$(complete_bash nacre shell ru)" run
mkdir onlydir
touch onlyfile
is 'bash: directories for --workspace' "$(complete_bash nacre run --workspace only)" onlydir
check 'bash: the script is good' bash -n "$STAGE/usr/local/share/bash-completion/completions/nacre"
for shell in bash zsh fish; do
    nacre completion "$shell"
    exits "completion $shell" 0
    if command -v "$shell" > /dev/null; then
        check "$shell reads its script" "$shell" -n "$scratch/out"
    else
        skip "$shell reads its script" "no $shell here"
    fi
done
nacre completion zsh
check 'the installed one is the same' cmp "$scratch/out" "$STAGE/usr/local/share/zsh/site-functions/_nacre"
if command -v fish > /dev/null; then
    complete_fish() { HOME=$scratch fish --no-config -c "source '$STAGE/usr/local/share/fish/vendor_completions.d/nacre.fish'; complete -C '$1'" 2>&1; }
    like 'fish: nacre ru' "$(complete_fish 'nacre ru')" 'run*'
    like 'fish: nacre run --ke' "$(complete_fish 'nacre run --ke')" '*--keep*'
    is 'fish: nacre run --keep' "$(complete_fish 'nacre run --keep ' | cut -f1 | sort)" $'both\nhead\ntail'
else
    skip 'fish completes' 'no fish here'
fi

# --- the manual -------------------------------------------------------------------------------

manual=$STAGE/usr/local/share/man/man1/nacre.1
check 'the manual is not empty' test -s "$manual"
check 'the manual is good' mandoc -Tlint -W warning "$manual"
page=$(mandoc -Tutf8 "$manual" | col -b)
for command in $commands; do like "the manual has $command" "$page" "*nacre $command*"; done
for word in --workspace --cwd --timeout --limit --keep --json --format 124 125 126 127; do
    like "the manual has $word" "$page" "*$word*"
done

# --- terminals --------------------------------------------------------------------------------

on_terminal() { # COMMAND
    TERM=xterm timeout 60 script -qec "$1" /dev/null < /dev/null | tr -d '\r'
}
like 'doctor has colours on a terminal' "$(on_terminal "'$NACRE' doctor")" "$escape"
unlike 'not with NO_COLOR' "$(NO_COLOR=1 on_terminal "'$NACRE' doctor")" "$escape"
like 'an empty NO_COLOR is none' "$(NO_COLOR='' on_terminal "'$NACRE' doctor")" "$escape"
for call in --help 'run --help' status 'plan x'; do
    # shellcheck disable=SC2086 # several words
    nacre $call
    unlike "nacre $call has no escape codes" "$out$err" "$escape"
done

harmful='printf "\e[31mred\e]52;c;QUJD\a\r\b\x7f\xc2\x9b1m\xe2\x80\xae\xe2\x80\x8b\xff\0end\n"'
shown=$(on_terminal "'$NACRE' run '$harmful'")
unlike 'on a terminal no escape code passes' "$shown" "$escape"
like 'the rest does' "$shown" '*red*52;c;QUJD*end*'
unlike 'no C1 control' "$shown" $'*\xc2\x9b*'
unlike 'no bidirectional control' "$shown" $'*\xe2\x80\xae*'
unlike 'nothing of no width' "$shown" $'*\xe2\x80\x8b*'
unlike 'no bell, backspace or delete' "$shown" $'*[\a\b\x7f]*'
shown=$(on_terminal "'$NACRE' run '$harmful >&2'")
unlike 'nor on standard error' "$shown" "$escape"
like 'where the rest is too' "$shown" '*red*end*'
shown=$(on_terminal "'$NACRE' run 'for i in 1 2 3; do printf \"\\303\"; sleep 0.1; printf \"\\251\"; done'")
like 'characters that come in pieces are whole' "$shown" '*ééé*'
shown=$(on_terminal "'$NACRE' run 'printf \"\\033\"; sleep 0.2; printf \"[31mx\"'")
unlike 'escape codes that come in pieces do not pass' "$shown" "$escape"
shown=$(on_terminal "'$NACRE' run 'printf \"x\\303\"'")
like 'half a character at the end is shown' "$shown" '*x*[!x]*'
shown=$(on_terminal "'$NACRE' run --workspace \$'\\e[31m' true")
unlike 'nor in our own messages' "$shown" "$escape"
"$NACRE" run "$harmful" > "$scratch/raw"
check 'elsewhere bytes stay what they are' grep -q $'\e\\]52;c;QUJD' "$scratch/raw"

done_testing

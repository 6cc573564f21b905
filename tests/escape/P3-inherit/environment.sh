#!/usr/bin/env bash
# P3: the environment is built from zero, and no process inside has the caller's in its memory.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"

cp "$TOOLS/attack" .
secret="secret-$(unique)"
export NACRE_SECRET=$secret AWS_SECRET_ACCESS_KEY=$secret LD_PRELOAD_X=$secret LANG=$secret LC_ALL=C PS1=$secret PROMPT_COMMAND="echo $secret" GIT_DIR=$secret SSH_AUTH_SOCK=$secret http_proxy=$secret
nacre run 'env; set; export -p; compgen -e; cat /proc/self/environ /proc/*/environ /proc/*/task/*/environ 2>/dev/null | tr "\0" "\n"; bash -lc set; bash -ic set 2>&1; echo looked'
like 'control: the command looked' "$out" '*looked*'
unlike 'no variable of the caller' "$out$err" "*$secret*"
nacre run 'env -0 | tr "\0" "\n" | sed "s/=.*//" | sort | tr "\n" " "'
is 'the variables are the listed ones' "$out" 'ASAN_OPTIONS HOME LANG LC_ALL LOGNAME PATH PWD SHELL SHLVL TERM TMPDIR USER _ '
nacre run 'cat /proc/1/environ; echo; cat /proc/1/cmdline | tr "\0" " "'
unlike 'process 1 has none of it' "$out" "*$secret*"
nacre run 'grep -l "'"${secret:0:12}"'" /proc/[0-9]*/environ /proc/1/mem 2>/dev/null; echo done'
prints 'nor is it anywhere in /proc' 'done'
# The launcher itself, seen from outside by its owner, has an empty environment.
tag=$(unique)
"$NACRE" run "sleep $tag; :" 2> /dev/null &
pid=$!
check 'control: it is up' wait_until 10 alive "^sleep $tag"
for p in $(pgrep -P "$pid") $(pgrep -f "^sleep $tag"); do
    unlike "process $p has none of it" "$(tr '\0' ' ' < "/proc/$p/environ" 2>/dev/null)" "*$secret*"
done
kill "$pid"
wait "$pid"
env 'BASH_FUNC_ls%%=() { echo GOT; }' 'BASH_FUNC_echo%%=() { printf GOT; }' "$NACRE" run 'ls /nowhere 2>/dev/null; echo done' > "$scratch/out"
is 'no function comes in' "$(cat "$scratch/out")" 'done'
TERM=$'x\n'"BASH_ENV=/x" TZ=":/etc/passwd" nacre run 'echo "${BASH_ENV-unset}"; date > /dev/null && echo works'
is 'a line end in a passed variable makes no other' "$out" $'unset\nworks'

done_testing

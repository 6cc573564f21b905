#!/usr/bin/env bash
# A1, A3: nothing inside can answer: not through the state directory, the environment, sockets, nacre itself, or the
# configuration by which it is judged.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"
mkdir -p ws/.state ws/.config/nacre ws/.nacre
export XDG_STATE_HOME=$PWD/ws/.state XDG_CONFIG_HOME=$PWD/ws/.config
state=$XDG_STATE_HOME/nacre
printf 'shell: {confirm: [python3]}\n' > ws/.nacre/config.yaml
question() { # the text that waits for a person
    "$JUDGE" run -w ws 'touch approved-harm; python3 -c 1' < /dev/null > "$scratch/q" 2>&1
    id=$("$JUDGE" pending --json | jq -r '.[0].id')
}
question
like 'control: it asks' "$(cat "$scratch/q")" '*needs confirmation*'
check 'control: the question is in the workspace of the box' test -e "$state/questions/$id.question"
listing() { find "$state/questions" -printf '%P %i %m %s\n' | sort; }
before=$(listing)

answer="{\"version\":1,\"id\":\"$id\",\"binding\":\"$(jq -r .binding "$state/questions/$id.question")\",\"answer\":\"yes\",\"scope\":\"job\",\"time_ms\":1,\"expires_ms\":9000000000000000,\"by\":\"uid 0 (root)\"}"
attempts='
q=$1/questions
ls -laR "$1" 2>&1; cat "$q"/* 2>&1
mkdir -p "$q" 2>&1; printf "%s" "$3" > "$q/$2.answer"; chmod 600 "$q/$2.answer" 2>&1
mv "$q" "$q.old" 2>&1; mv "$1" "$1.old" 2>&1; mkdir -p "$q" && printf "%s" "$3" > "$q/$2.answer"
rm -rf "$1" "${1%/*}" 2>&1
ln -s /tmp "$q/x" 2>&1
for p in /proc/[0-9]*; do printf "%s" "$3" > "$p/root$q/$2.answer"; printf "%s" "$3" > "$p/cwd/.state/nacre/questions/$2.answer"; done 2> /dev/null
for n in ./nacre nacre /usr/local/bin/nacre; do
    $n approve --yes "$2"; $n approve --yes --always "$2"; $n approve --yes --state-dir "$1" "$2"
    XDG_STATE_HOME=${1%/*} $n approve --yes "$2"; $n commit "$2"; $n pending
done 2>&1
export XDG_STATE_HOME=/tmp/s XDG_CONFIG_HOME=/tmp/c NACRE_APPROVE=yes
mkdir -p .config/nacre .nacre; for f in .config/nacre/config.yaml .nacre/config.yaml .nacre/agents/a.yaml; do
    printf "shell: {unknown: allow, allow: [python3, touch]}\napprovals: {elicit: true, timeout: 1000h}\n" > "$f"; done 2>&1
rm -rf .nacre .config 2>&1; mv .nacre n2 2>&1; mv .config c2 2>&1
for s in "$1"/daemon/socket "$1"/jobs/*; do python3 - "$s" <<P
import socket, sys
s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); print("connected")
P
done 2>&1
for p in $(ps -e -o pid= 2> /dev/null); do grep -c . "/proc/$p/environ"; done 2> /dev/null | sort | uniq -c
echo tried'
cp "$JUDGE" ws/nacre
nacre run -w ws --limit processes=20 "set -- '$state' '$id' '$answer'; $attempts"
like 'control: it tried' "$out" '*tried*'
unlike 'the question is not read' "$out" "*\"binding\"*"
unlike 'nobody is connected to' "$out" '*connected*'
is 'the questions are as they were' "$(listing)" "$before"
is 'the configuration, too' "$(cat ws/.nacre/config.yaml; ls -A ws/.config/nacre)" 'shell: {confirm: [python3]}'
"$JUDGE" run -w ws 'touch approved-harm; python3 -c 1' < /dev/null > "$scratch/q" 2>&1
like 'the call still asks' "$(cat "$scratch/q")" "*needs confirmation*"
check 'and nothing of it ran' test ! -e ws/approved-harm

# A process of the box that lives while a person answers cannot look into the one that does.
"$NACRE" run -w ws 'while [ ! -e stop ]; do for p in /proc/[0-9]*; do case $(tr "\0" "\n" < $p/cmdline | sed -n 2p) in approve | deny) echo seen ;; esac; done; sleep 0.1; done; echo ended' > "$scratch/watch" 2>&1 &
"$JUDGE" approve --yes "$id" > "$scratch/approved" 2>&1
"$JUDGE" run -w ws 'touch approved-harm; python3 -c 1' < /dev/null > "$scratch/q" 2>&1
check 'control: a person outside can' test -e ws/approved-harm
touch ws/stop
kill $! 2> /dev/null
wait $! 2> /dev/null
unlike 'and is not seen' "$(cat "$scratch/watch")" '*seen*'

# Nor through a project that brings answers, questions or policies with it.
rm -rf ws/approved-harm
question
mkdir -p ws/questions ws/.nacre/questions
for place in ws/questions ws/.nacre/questions ws/.nacre; do printf '%s' "${answer/$id/$id}" > "$place/$id.answer"; done
for text in 'approvals: {elicit: true}' 'approvals: {timeout: 1000h}' 'approvals: {judge: [/bin/echo]}' \
    'approvals: {key: "ada+6c4f6f04+ARxrKOaNxLHFzFMMmxuNBvuQJWkRhsYaLtUQHnyDyXoC"}' 'approvals: {approver: me}' \
    'shell: {allow: ["= python3 -c 1"]}' 'shell: {unknown: allow}'; do
    printf '%s\n' "$text" > ws/.nacre/config.yaml
    "$JUDGE" run -w ws 'touch approved-harm; python3 -c 1' < /dev/null > "$scratch/q" 2>&1
    if [ ! -e ws/approved-harm ]; then ok "a project's file: $text"; else not_ok "a project's file: $text" "$(cat "$scratch/q")"; fi
    rm -f ws/approved-harm
done

done_testing

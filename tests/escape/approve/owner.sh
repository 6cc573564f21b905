#!/usr/bin/env bash
# Root answers in another user's state directory, where that user can have put anything: root follows it no further than they
# could themselves, and what is theirs stays theirs.

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"
NACRE=$JUDGE
if [ "$(id -u)" -ne 0 ]; then
    refute "who is not root has no way to another user's questions" "$NACRE" pending --state-dir /root/.local/state/nacre
    like 'and is told' "$("$NACRE" approve --yes --state-dir /etc 00000000 2>&1)" "*'/etc' is another user's, and you are not root"
    done_testing
fi
export XDG_CONFIG_HOME=$scratch/config
theirs=$(runuser -u "$TEST_USER" -- mktemp -d)
trap 'rm -rf "$scratch" "$theirs"' EXIT
state=$theirs/state/nacre
as_them() { (cd "$theirs" && runuser -u "$TEST_USER" -- env -i HOME="$theirs" PATH="$PATH" XDG_STATE_HOME="$theirs/state" "$@"); }
as_them mkdir -p ws .config/nacre
as_them sh -c 'printf "effects: {delete_files: 1}\nshell: {allow: [rm]}\n" > .config/nacre/config.yaml'
root() { "$NACRE" "$1" --state-dir "$state" "${@:2}"; }

# Changes that are held.
hold() {
    as_them sh -c 'cd ws && touch a b c'
    as_them "$NACRE" run --json -w ws 'rm a b c' 2> /dev/null < /dev/null | jq -r .correlation_id
}
id=$(hold)
like 'a held run is shown to root' "$(root pending)" "*${id:0:8}  changes  held*"
like 'and is there for its owner after that' "$(as_them "$NACRE" pending)" "*${id:0:8}  changes  held*"
check 'root makes it real' root approve --yes "$id"
is 'it is' "$(ls "$theirs/ws")" ''
id=$(hold)
check 'root throws it away' root deny "$id"
is 'and it is gone' "$(ls "$theirs/ws") $(root pending)" $'a\nb\nc '
is 'nothing there is of root' "$(find "$theirs" ! -user "$TEST_USER" | wc -l)" 0

# A ledger, questions and a store that lead to what is root's alone.
mkdir "$scratch/rootonly"
chmod 711 "$scratch"
ask() {
    as_them "$NACRE" run -w ws "python3 $1" > /dev/null 2>&1 < /dev/null
    root pending --json | jq -r '.[-1].id'
}
for name in ledger questions store runs; do
    id=$(ask "$name")
    as_them mv "$state/$name" "$state/$name.real"
    as_them ln -s "$scratch/rootonly" "$state/$name"
    root pending > "$scratch/out" 2>&1
    root approve --yes "$id" >> "$scratch/out" 2>&1
    root deny "$id" >> "$scratch/out" 2>&1
    is "$name behind a link: nothing is made where it leads" "$(find "$scratch/rootonly" -mindepth 1)" ''
    as_them rm "$state/$name"
    as_them mv "$state/$name.real" "$state/$name"
done

# A rule would be in root's own configuration.
id=$(ask always)
like 'no rule of root for what another user asks' "$(root approve --yes --always "$id" 2>&1)" '*a rule for another user is not written*'
refute 'none was written' test -e "$XDG_CONFIG_HOME/nacre/config.yaml"
check 'control: once' root approve --yes "$id"

done_testing

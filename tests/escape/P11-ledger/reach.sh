#!/usr/bin/env bash
# P11: ledger, key and objects are in nobody's reach, though they lie in the workspace or in what is listed; and each run
# that tried is in the ledger.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"

verify=${JUDGE%/*}/nacre-verify
export XDG_STATE_HOME=$PWD/home/.state
mkdir -p home "$XDG_STATE_HOME"
nacre run -w home true
exits 'control: a workspace that holds the state directory' 0
state=$XDG_STATE_HOME/nacre
check 'control: the ledger is there' test -s "$state/ledger/key"
key=$(od -An -tx1 -v "$state/ledger/key" | tr -d ' \n')
tree() { find "$state/ledger/key" "$state/ledger/key.pub" -printf '%p %i %m %s\n'; sha256sum "$state/ledger/key" "$state/ledger/key.pub"; }
before=$(tree)

attempts='
cd "$1" 2> /dev/null
for f in key key.pub lock segment/0* checkpoint; do cat "$1/ledger/$f" 2> /dev/null | od -An -tx1 -v; done
echo forged >> "$1/ledger/segment/00000000000000000000"
: > "$1/ledger/key"
rm -rf "$1/ledger" "$1" 2> /dev/null
mv "$1" "$1.old" 2> /dev/null; mv "${1%/*}" "${1%/*}.old" 2> /dev/null
mkdir -p "$1/ledger/segment"; echo forged > "$1/ledger/key"
ln "$1/ledger/key" stolen 2> /dev/null; ln -s "$1/ledger" way; cat way/key 2> /dev/null | od -An -tx1 -v
for p in /proc/[0-9]*; do cat "$p/root$1/ledger/key" "$p/cwd/.state/nacre/ledger/key" 2> /dev/null | od -An -tx1 -v; done
for fd in /proc/self/fd/*; do readlink "$fd"; done | grep -F ledger
tar -C "$1" -cf - . 2> /dev/null | od -An -tx1 -v | head -c 100000
echo tried'

harm() { # NAME
    like "$1: control: it tried" "$out" '*tried*'
    unlike "$1: the key is not read" "$(printf '%s' "$out" | tr -d ' \n')" "*${key:0:48}*"
    is "$1: key and public key are the same files" "$(tree)" "$before"
    check "$1: the ledger verifies" "$verify" "$state/ledger"
    check "$1: and has the run" grep -aqF 'for f in key key.pub lock' "$state/ledger/segment/00000000000000000000"
}

nacre run -w home "set -- '$state'; $attempts"
harm 'in the workspace'
rm -rf home/way home/stolen
mkdir other
nacre run -w other --read-path "$XDG_STATE_HOME" "set -- '$state'; $attempts"
harm 'listed to be read'
nacre run -w other --write-path "$XDG_STATE_HOME" "set -- '$state'; $attempts"
harm 'listed to be written'
printf 'workspace: ro\n' > "$scratch/ro.yaml"
nacre run -w home --config "$scratch/ro.yaml" "set -- '$state'; $attempts"
harm 'a workspace that is only read'
nacre run -w :memory: --read-path "$PWD/home" "set -- '$state'; $attempts"
harm 'with a workspace in memory'
ln -s home link
nacre run -w link "set -- '$PWD/link/.state/nacre'; $attempts"
harm 'by way of a link'

# Below what every box shows.
if [ "$(id -u)" -eq 0 ]; then
    system=$(mktemp -d /opt/nacre-test.XXXXXX)
    trap 'chmod -R u+rwx "$system"; rm -rf "$scratch" "$system"' EXIT
    chmod 755 "$system"
    export XDG_STATE_HOME=$system/state
    nacre run -w other true
    state=$XDG_STATE_HOME/nacre
    chmod -R go+rX "$system"
    key=$(od -An -tx1 -v "$state/ledger/key" | tr -d ' \n')
    before=$(tree)
    nacre run -w other "set -- '$state'; $attempts"
    harm 'below a directory of the system'
    mkdir -p "$system/home/private"
    echo "secret-$$" > "$system/home/private/file"
    chmod -R go+rX "$system/home"
    HOME=$system/home nacre run -w other 'cat ~/private/file; echo x > ~/made && echo tried'
    is 'a home there is private all the same' "$out" tried
    is 'and not written to' "$(ls "$system/home")" private
fi

# Nothing of the ledger is among what the inside inherits.
nacre run -w other 'ls -l /proc/self/fd /proc/1/fd 2> /dev/null; cat /proc/1/maps /proc/1/environ 2> /dev/null; echo tried'
unlike 'no descriptor of it' "$out" '*ledger*'
done_testing

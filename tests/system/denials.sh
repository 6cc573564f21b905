#!/usr/bin/env bash
# What failed on a wall is explained: which path, and which key opens it; what failed by itself is not.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

mkdir ws
echo secret > ws/hidden
echo x > ws/kept
printf 'paths: {hide: [hidden], protect: [kept]}\n' > "$scratch/policy.yaml"
said() { jq -r '.warnings[]' <<< "$out"; }
explains() { # NAME TEXT PATTERN
    nacre run --json -w ws --config "$scratch/policy.yaml" "$2"
    like "$1" "$(said)" "$3"
}
explains 'a file that is not shown' 'cat /srv/data/file' \
    "the command said 'No such file or directory': '/srv/data/file' is not shown in the box (paths.read decides that)"
explains 'one of the home' 'cat ~/.ssh/id_rsa' "*'$HOME/.ssh/id_rsa' is not in the box's own home (paths.read decides that)"
explains 'the system is read-only' 'touch /usr/bin/mine' "*'/usr/bin/mine' is read-only in the box (paths.write decides that)"
explains 'so is the root, in other quotes' 'mkdir /mine' "*'/mine' lies in the box's own root (paths.write decides that)"
explains 'a hidden file' "cat $PWD/ws/hidden" "*'$PWD/ws/hidden' is hidden (paths.hide decides that)"
explains 'a protected one' "echo y > $PWD/ws/kept" "*'$PWD/ws/kept' is protected (paths.protect decides that)"
explains 'no network' 'exec 3<> /dev/tcp/192.0.2.1/80' "the command said 'Network is unreachable': the box has no network*(network decides that)"
explains 'no names' 'python3 -c "import socket; socket.create_connection((\"example.org\", 80))"' '*the box has no network*'
explains 'too many files' 'for i in {10..400}; do exec {f}< /dev/null || exit; done' '*Too many open files*(limits.files decides that)'

explains 'what is not there by itself is not explained' 'cat missing; cat /tmp/missing' ''
explains 'nor is a failure without words' 'exit 3' ''
explains 'nor words without a failure' 'echo "/srv: No such file or directory" >&2' ''
# The words are the inside's: they are shown escaped, cut, and no more than a few of them.
nacre run --json -w ws 'printf "/srv/\033[31mred: Read-only file system\n" >&2; false'
unlike 'no escapes' "$(grep -a -o '"warnings.*' "$scratch/out")" $'*\033*'
explains 'a few' 'for i in {1..100}; do echo "/srv/$i: No such file or directory"; done >&2; false' $'*/srv/1\'*/srv/4\'*'
is 'and not more' "$(said | wc -l)" 4
explains 'long names are none' 'printf "/%0500d: No such file or directory\n" 1 >&2; false' ''
nacre run --json -w ws --limit output=8MB 'head -c 4000000 /dev/zero | tr "\0" "/" >&2; head -c 100 /dev/zero >&2; echo ": No such file or directory" >&2; false'
is 'a flood of slashes, and NULs' "$(jq -r .status <<< "$out")" failed

done_testing

#!/usr/bin/env bash
# P1: links in the workspace that point out show nothing; links out cannot be made.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"

mkdir ws out
here=$PWD
secret="secret-$(unique)"
echo "$secret" > out/file
chmod 600 out/file
ln -s "$here/out/file" ws/file
ln -s "$here/out" ws/dir
ln -s /etc/shadow ws/shadow
ln -s ../out/file ws/relative
ln -s / ws/root
ln -s /proc/self/root ws/proc
ln -s /proc/1/root ws/init
nacre run -w ws "cat file dir/file shadow relative root$here/out/file proc$here/out/file init$here/out/file root/etc/shadow; echo looked"
like 'control: the command looked' "$out" '*looked'
unlike 'a link that points out shows nothing' "$out$err" "*$secret*"
unlike 'nor does one to shadow' "$out" '*root:*:*:*'
nacre run -w ws "echo harm > file; echo harm > dir/file; echo harm > relative; echo harm > dir/new; rm -rf dir/ root/ proc/ init/"
is_file 'what it points to is not changed' out/file "$secret"$'\n'
is 'nor added to' "$(ls out)" file
# From inside no hard link to anything of the system can be made: it would be writable here.
nacre run -w ws 'ln /usr/bin/env link1; ln /etc/passwd link2; ln /dev/null link3; ln /etc/ld.so.cache link4; ln -L /proc/self/exe link5; ls'
unlike 'hard links out cannot be made' "$out" '*link*'
if [ "$(id -u)" = 0 ]; then
    # Root runs in a user's workspace, in which there is a hard link to root's file.
    mkdir theirs
    chown "$TEST_USER" theirs
    chmod 755 .
    ln out/file theirs/hard
    nacre run -w theirs 'cat hard; echo harm >> hard; chmod 777 hard; cat hard'
    unlike 'a hard link to root'"'"'s file shows nothing' "$out$err" "*$secret*"
    is_file 'and does not change it' out/file "$secret"$'\n'
    is 'nor its mode' "$(stat -c %a out/file)" 600
fi
# A directory of the workspace that is swapped for a link while the command runs.
# The sign comes from a path that is only shown: what is written to the workspace is real at the end alone.
mkdir ws/swap sign
tag=$(unique)
"$NACRE" run -w ws --read-path "$here/sign" "cd swap; echo up; until [ -e $here/sign/go ]; do sleep 0.05; done; cat ../swap/file; cat file; echo harm > ../swap/file; echo looked $tag" > "$scratch/out" 2>&1 &
pid=$!
wait_until 10 grep -qs up "$scratch/out"
rmdir ws/swap
ln -s "$here/out" ws/swap
touch sign/go
wait "$pid"
like 'control: the command looked through the swapped link' "$(cat "$scratch/out")" "*looked $tag*"
unlike 'it showed nothing' "$(cat "$scratch/out")" "*$secret*"
is_file 'and changed nothing' out/file "$secret"$'\n'

done_testing

#!/usr/bin/env bash
# P2, L5: files of other owners in the workspace stay theirs, and started by root nothing is left
# that belongs to anybody but the owner of the workspace.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"

secret="secret-$(unique)"
if [ "$(id -u)" = 0 ]; then
    user=$(id -u "$TEST_USER")
    mkdir theirs
    chown "$user:$user" theirs
    echo "$secret" > theirs/roots
    chmod 600 theirs/roots
    nacre run -w theirs 'cat roots; echo harm > roots; chmod 666 roots; chown 1000:1000 roots; mkdir d; echo x > d/made; install -d -m 700 e; ln -s made l; mkfifo p; true'
    unlike "root's file in a user's workspace is not read" "$out$err" "*$secret*"
    is_file 'nor written' theirs/roots "$secret"$'\n'
    is 'nor given away' "$(stat -c '%u %a' theirs/roots)" '0 600'
    check 'control: files were made' test -e theirs/d/made
    is 'what is made belongs to the owner of the workspace' "$(find theirs -mindepth 1 ! -name roots -printf '%U\n' | sort -u)" "$user"
    rm -rf theirs/*
    mkdir mine
    echo theirs > mine/file
    chown "$user" mine/file
    chmod 600 mine/file
    nacre run -w mine 'cat file; echo harm > file; echo x > made; true'
    unlike "nor a user's file in root's workspace" "$out" '*theirs*'
    is_file 'nor written either' mine/file $'theirs\n'
    is "what is made in root's is root's" "$(stat -c %u mine/made)" 0
fi
nacre run 'touch a; for owner in 0 0:0 65534 1 1001 :0 4294967294; do chown $owner a 2>/dev/null && echo "GOT $owner"; done; chgrp 0 a 2>/dev/null && echo GOT; echo done'
prints 'no file is given away' 'done'
is 'the file is our own' "$(stat -c %u a)" "$(id -u)"

done_testing

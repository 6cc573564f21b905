#!/usr/bin/env bash
# Runs alone.
# P7: many small files, and files of processes that live for a moment, count together; so do names
# without content.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"
# shellcheck source=tests/escape/bomb.sh
. "$(dirname "$0")/../bomb.sh"

mkdir ws
bomb -w ws --limit disk=20MB 'for i in {1..100}; do head -c 2M /dev/zero > f$i; done; echo all'
ended 'a hundred files of a hundred processes'
size=$(du -sm ws | cut -f1)
check "no more than some of it is there ($size MB)" test "$size" -lt 120
rm -rf ws/*
bomb -w ws --limit disk=20MB --limit processes=20 'for i in {1..10}; do (mkdir d$i; cd d$i; for j in {1..20}; do head -c 1M /dev/zero > f$j; done) & done; wait; echo all'
ended 'in ten directories at once'
rm -rf ws/*
# A name takes an inode and a part of a directory, though its file is empty.
bomb -w ws --limit disk=4MB 'python3 -c "
import os
for i in range(100000):
    os.close(os.open(f\"n{i}\", os.O_CREAT | os.O_WRONLY))
print(\"all\")"'
ended 'names without content'
count=$(find ws | wc -l)
check "not all of them are there ($count)" test "$count" -lt 100000
rm -rf ws

done_testing

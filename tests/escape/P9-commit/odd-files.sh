#!/usr/bin/env bash
# P9, P10: files that hang, fill or confuse who reads them hold up neither the commit nor the hash.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"

cat > odd.py << 'END'
import os, socket
os.makedirs(b"ws/d")
os.mkfifo("ws/fifo")
os.mkfifo("ws/d/.env")
socket.socket(socket.AF_UNIX).bind("ws/socket")
with open("ws/sparse", "wb") as f:
    f.truncate(64 << 20)
for name in (b"new\nline", b"\x1b]52;c;aGk=\x07", b"\xff\xfe", b"-rf", b" ", b"x" * 255, b"a\\b", "e\u0301\u202e".encode()):
    open(b"ws/" + name, "wb").close()
os.symlink("loop", "ws/loop")
os.symlink("/proc/self/fd/0", "ws/stdin")
os.mkdir("ws/closed")
open("ws/closed/file", "w").close()
os.chmod("ws/closed", 0)
open("ws/none", "w").close()
os.chmod("ws/none", 0)
END
mkdir ws
mv odd.py ws/
start=$SECONDS
nacre run -w ws --json 'mkdir ws; python3 odd.py; mv ws/* ws/.[!.]* . 2> /dev/null; echo over'
is 'the run ends' "$(jq -r .stdout <<< "$out")" over
check 'at once' test $((SECONDS - start)) -lt 20
is 'no socket or device is left' "$(find ws -type s -o -type b -o -type c)" ''
is 'nor a set-id file' "$(find ws -perm /6000)" ''
nacre run -w ws 'ls -A | wc -l; cat -- -rf'
exits 'the next run begins' 0
timeout 20 "$NACRE" hash ws > /dev/null 2> "$scratch/err"
check 'it is hashed, or said why it cannot be' test $? -le 1
nacre history
unlike 'no name reaches the terminal as it is' "$out$err" $'*\e*'
chmod -R u+rwX ws
done_testing

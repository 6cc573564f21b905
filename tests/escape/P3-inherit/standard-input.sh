#!/usr/bin/env bash
# P3: whatever stands at standard input, the command gets a pipe with its bytes, or nothing: no
# directory, socket, device or file that could be used for more.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"

mkdir ws out
secret="secret-$(unique)"
echo "$secret" > out/secret
look='readlink /proc/self/fd/0; cat /proc/self/fd/0/secret /dev/stdin/secret 2>/dev/null; python3 -c "
import os, socket
for name in (\".\", \"secret\", \"..\"):
    try:
        os.open(name, os.O_RDONLY, dir_fd=0)
        print(\"GOT\", name)
    except OSError:
        pass
try:
    os.fchdir(0)
    print(\"GOT fchdir\")
except OSError:
    pass
try:
    s = socket.socket(fileno=0)
    s.send(b\"harm\")
    print(\"GOT a socket\")
except OSError:
    pass
try:
    os.write(0, b\"harm\")
    print(\"GOT a write\")
except OSError:
    pass
try:
    os.ftruncate(0, 0)
    print(\"GOT a truncation\")
except OSError:
    pass
"; echo looked'
printf '%s' "$look" > ws/look
try() { # NAME: what was run is in $out
    unlike "$1: nothing is got" "$out" '*GOT*'
    unlike "$1: nothing is read" "$out" "*$secret*"
    unlike "$1: not even a name" "$out" "*$PWD/out*"
}
nacre run -w ws 'bash look' < out
try 'a directory'
nacre run -w ws 'bash look' < /
try 'the root'
nacre run -w ws 'bash look' <> out/secret
unlike 'a file that is open for both: nothing is got' "$out" '*GOT*'
is_file 'it is what it was' out/secret "$secret"$'\n'
nacre run -w ws 'bash look' < /dev/zero
unlike 'a device: nothing is got' "$out" '*GOT*'
unlike 'nor is it told' "$out" '*/dev/zero*'
cat > "$scratch/pair.py" << P
import os, socket, subprocess, sys
a, b = socket.socketpair()
done = subprocess.Popen(sys.argv[1:], stdin=b, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
b.close()
a.shutdown(socket.SHUT_WR)
sys.stdout.buffer.write(done.communicate()[0])
a.settimeout(2)
print("came back:", a.recv(100))
P
out=$(python3 "$scratch/pair.py" "$NACRE" run -w ws 'bash look')
try 'a socket'
like 'nothing was sent through it' "$out" "*came back: b''*"
like 'control: it looked' "$out" '*looked*'
nacre run -w ws 'bash look' <&-
unlike 'none at all: nothing is got' "$out" '*GOT*'

done_testing

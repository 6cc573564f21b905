#!/usr/bin/env bash
# P3, P4: a connected socket, or a directory of the host, that the caller left open at any number
# does not reach the inside.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"

mkdir ws out
secret="secret-$(unique)"
echo "$secret" > out/secret
cat > "$scratch/caller.py" << 'P'
import os, socket, subprocess, sys
ours, theirs = socket.socketpair()
root = os.open("/", os.O_RDONLY | os.O_DIRECTORY)
out = os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECTORY)
path = os.open(sys.argv[1], os.O_PATH)
for number in range(20, 201):
    os.dup2((theirs.fileno(), root, out, path)[number % 4], number, inheritable=True)
for fd in (theirs.fileno(), root, out, path):
    os.set_inheritable(fd, True)
done = subprocess.run(sys.argv[2:], close_fds=False, stdin=subprocess.DEVNULL, capture_output=True)
sys.stdout.buffer.write(done.stdout + done.stderr)
theirs.close()
ours.setblocking(False)
try:
    print("arrived:", ours.recv(100))
except BlockingIOError:
    print("arrived: nothing")
P
cat > ws/try.py << 'P'
import os, socket
for fd in range(3, 1024):
    try:
        os.fstat(fd)
    except OSError:
        continue
    try:
        os.write(fd, b"harm")
        print("GOT a write to", fd)
    except OSError:
        pass
    for name in ("secret", "etc/shadow", "root", "../out/secret"):
        try:
            os.open(name, os.O_RDONLY, dir_fd=fd)
            print("GOT", name, "by", fd)
        except OSError:
            pass
print("tried")
P
like 'control: a plain program gets them' "$(python3 "$scratch/caller.py" out python3 ws/try.py)" '*GOT*arrived: b*'
for form in text json; do
    out=$(python3 "$scratch/caller.py" out "$NACRE" run --format "$form" -w ws 'python3 try.py')
    unlike "the command gets none ($form)" "$out" '*GOT*'
    like "control: it tried ($form)" "$out" '*tried*'
    like "nothing arrives at the other end ($form)" "$out" '*arrived: nothing*'
done

done_testing

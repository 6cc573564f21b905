#!/usr/bin/env bash
# P3: run at a person's terminal, the command cannot make it its own, put itself in front, change
# its settings, or open it by name.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"

mkdir ws
cat > ws/try.py << 'P'
import fcntl, os, struct, sys, termios
names = ["/dev/tty", "/dev/console", "/dev/tty0", "/dev/ptmx"] + [f"/dev/pts/{n}" for n in range(40)] + [f"/proc/self/fd/{n}" for n in range(10)] + sys.argv[1:]
fds = list(range(0, 64))
for name in names:
    if name == "/dev/ptmx":
        continue
    try:
        fds.append(os.open(name, os.O_RDWR | os.O_NOCTTY))
    except OSError:
        pass
for fd in fds:
    if not os.isatty(fd):
        continue
    print("GOT a terminal:", os.ttyname(fd))
    for name, call in (("controls", lambda: fcntl.ioctl(fd, termios.TIOCSCTTY, 1)), ("front", lambda: os.tcsetpgrp(fd, os.getpgrp())),
                       ("settings", lambda: termios.tcsetattr(fd, termios.TCSANOW, termios.tcgetattr(fd))),
                       ("input", lambda: fcntl.ioctl(fd, termios.TIOCSTI, b"X")), ("output", lambda: os.write(fd, b"HARM"))):
        try:
            call()
            print("GOT", name)
        except OSError:
            pass
print("tried")
P
cat > "$scratch/person.py" << 'P'
import os, pty, select, sys, time
pid, master = pty.fork()
if pid == 0:
    name = os.ttyname(0)
    os.execvp("bash", ["bash", "-c", 'exec 3>&1; "$@" > "$OUT" 2>&1', "bash", *[w.replace("TERMINAL", name) for w in sys.argv[1:]]])
shown = b""
end = time.time() + 20
while time.time() < end:
    ready, _, _ = select.select([master], [], [], 0.2)
    if ready:
        try:
            data = os.read(master, 4096)
        except OSError:
            break
        if not data:
            break
        shown += data
    elif os.waitpid(pid, os.WNOHANG)[0]:
        break
print("shown:", shown)
P
export OUT=$scratch/out
shown=$(python3 "$scratch/person.py" python3 ws/try.py TERMINAL)
like 'control: a plain program has the terminal' "$(cat "$OUT")" '*GOT a terminal*tried*'
like 'control: and writes on it' "$shown" '*HARM*'
shown=$(python3 "$scratch/person.py" "$NACRE" run -w ws 'python3 try.py TERMINAL')
unlike 'inside there is none' "$(cat "$OUT")" '*GOT*'
like 'control: it tried' "$(cat "$OUT")" '*tried*'
unlike 'nothing is written on it' "$shown" '*HARM*'
shown=$(python3 "$scratch/person.py" "$NACRE" run -w ws 'setsid -c python3 try.py TERMINAL; setsid -w python3 try.py')
unlike 'nor in a session of its own' "$(cat "$OUT")" '*GOT*'

done_testing

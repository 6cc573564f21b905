#!/usr/bin/env python3
"""A person at a terminal: runs a command on a new one, types, resizes, and prints all that was shown.

    person.py SCRIPT COMMAND...

SCRIPT has one step a line: `wait TEXT` (until it was shown, at most 10 s), `type TEXT` (escapes as in Python),
`size ROWS COLUMNS`, `pause SECONDS`, `signal NAME` (to the command). Afterwards the settings of the terminal are
compared with those of before, and the last line is `settings same` or `settings differ`, and the exit status.
"""
import fcntl
import os
import pty
import select
import signal
import struct
import sys
import termios
import time


def main():
    with open(sys.argv[1], encoding="utf-8") as script:
        steps = [line.rstrip("\n").split(" ", 1) for line in script if line.strip()]
    master, slave = pty.openpty()
    before = termios.tcgetattr(slave)
    pid = os.fork()
    if pid == 0:
        os.setsid()
        fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
        for fd in range(3):
            os.dup2(slave, fd)
        os.execvp(sys.argv[2], sys.argv[2:])
    shown = b""
    ended = None

    def turn(seconds):
        nonlocal shown, ended
        if select.select([master], [], [], seconds)[0]:
            shown += os.read(master, 65536)
        if ended is None:
            got, status = os.waitpid(pid, os.WNOHANG)
            ended = status if got else None

    seen = 0
    for word, *rest in steps:
        argument = rest[0] if rest else ""
        if word == "wait":
            limit = time.monotonic() + 10
            wanted = argument.encode().decode("unicode_escape").encode("latin-1")
            while wanted not in shown[seen:] and time.monotonic() < limit and ended is None:
                turn(0.05)
            at = shown.find(wanted, seen)
            seen = at + len(wanted) if at >= 0 else seen
        elif word == "type":
            os.write(master, argument.encode().decode("unicode_escape").encode("latin-1"))
        elif word == "size":
            rows, columns = map(int, argument.split())
            fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        elif word == "pause":
            limit = time.monotonic() + float(argument)
            while time.monotonic() < limit:
                turn(0.05)
        elif word == "signal":
            os.kill(pid, getattr(signal, argument))
    limit = time.monotonic() + 20
    while ended is None and time.monotonic() < limit:
        turn(0.05)
    turn(0.1)
    same = termios.tcgetattr(slave) == before
    if ended is None:
        os.kill(pid, signal.SIGKILL)
        ended = os.waitpid(pid, 0)[1]
    sys.stdout.buffer.write(shown)
    sys.stdout.buffer.write(b"\nsettings %s\nstatus %d\n" % (b"same" if same else b"differ", os.waitstatus_to_exitcode(ended)))


main()

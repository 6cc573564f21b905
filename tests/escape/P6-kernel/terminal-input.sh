#!/usr/bin/env bash
# P6: even on a terminal of its own nobody pushes input or changes the discipline of the line,
# however the number is written.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"

cp "$TOOLS/attack_kernel" .
like 'control: outside it works' "$("$TOOLS/attack_kernel" terminal)" '*GOT*'
nacre run './attack_kernel terminal'
prints 'inside it does not' 'done'
nacre run 'python3 -c "
import os, pty
pid, fd = pty.fork()
if pid == 0:
    os.write(1, b\"hello\" if os.isatty(0) else b\"none\")
    os._exit(0)
print(os.read(fd, 100).decode())
os.waitpid(pid, 0)"'
prints 'control: a terminal of its own works' hello

done_testing

#!/usr/bin/env bash
# X1: from inside other programs, whose texts nobody reads: python, make, npm, perl, awk, find.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/escape/exec/lib.bash
. "$(dirname "$0")/lib.bash"

with() { # PROGRAM
    if command -v "$1" > /dev/null; then ok "there is $1"; else skip "$1" 'there is none'; return 1; fi
}

if with python3; then
    printf 'import subprocess\nsubprocess.run(["touch", "mark"])\n' > s.py
    stopped python 'python3 s.py' '*\["touch","mark"\]*'
    printf 'import os\nos.system("touch mark; true")\n' > s.py
    stopped 'python by a shell' 'python3 s.py' '*\["touch","mark"\]*'
    printf 'import os\nfd = os.memfd_create("x")\nos.write(fd, open("/usr/bin/touch", "rb").read())\nos.execve(fd, ["ls", "mark"], os.environ)\n' > s.py
    rm -f mark
    judged 'python3 s.py'
    refute 'python from memory' test -e mark
fi
if with make; then
    printf 'all:\n\ttouch mark\n' > Makefile
    stopped make 'make' '*\["touch","mark"\]*'
fi
if with npm; then
    printf '{"scripts": {"test": "touch mark"}}\n' > package.json
    stopped npm 'npm test' '*\["touch","mark"\]*'
fi
if with perl; then
    printf 'exec { "/usr/bin/touch" } "ls", "mark";\n' > s.pl
    stopped perl 'perl s.pl' '*\["ls","mark"\]*'
fi
printf 'BEGIN { system("touch mark") }\n' > s.awk
stopped awk 'awk -f s.awk' '*\["touch","mark"\]*'

done_testing

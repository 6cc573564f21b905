#!/usr/bin/env bash
# P2, P9: flags, generations and project numbers of files: none that a run sets makes a file of the host's one that nobody can change.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"

cat > flags.py << 'END'
import fcntl, os, struct
GETFLAGS, SETFLAGS, GETX, SETX = 0x80086601, 0x40086602, 0x801C581F, 0x401C5820
IMMUTABLE, APPEND, NODUMP, NOATIME = 0x10, 0x20, 0x40, 0x80
for path in ("own", "made", "dir"):
    if path == "made":
        open(path, "w").close()
    fd = os.open(path, os.O_RDONLY)
    for flag in (IMMUTABLE, APPEND, IMMUTABLE | APPEND | NODUMP | NOATIME):
        try:
            fcntl.ioctl(fd, SETFLAGS, struct.pack("L", flag))
            print("set", path, hex(flag))
        except OSError:
            pass
    try:
        fcntl.ioctl(fd, SETX, struct.pack("IIIII8x", 0x8 | 0x10, 0, 0, 4242, 0))
        print("set", path, "project")
    except OSError:
        pass
print("over")
END
echo mine > own
mkdir dir
nacre run 'python3 flags.py'
prints 'no flag that binds is set' over
check 'the file can be changed' sh -c 'echo yours > own'
check 'so can what was made' sh -c 'echo yours > made && rm made'
check 'and the directory' sh -c 'touch dir/new && rm -r dir'
done_testing

#!/usr/bin/env bash
# P2: a descriptor of something that is shown read-only cannot be linked into the workspace,
# reopened for writing, or have its mode changed.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"

cat > try.py << 'P'
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
AT_FDCWD, AT_EMPTY_PATH, AT_SYMLINK_FOLLOW = -100, 0x1000, 0x400
for place in sys.argv[1:]:
    for kind in (os.O_RDONLY, os.O_PATH):
        try:
            fd = os.open(place, kind)
        except OSError:
            continue
        name = f"/proc/self/fd/{fd}"
        if libc.linkat(fd, b"", AT_FDCWD, b"made", AT_EMPTY_PATH) == 0:
            print("GOT a link to", place)
        if libc.linkat(AT_FDCWD, name.encode(), AT_FDCWD, b"made", AT_SYMLINK_FOLLOW) == 0:
            print("GOT a link by name to", place)
        for way in (os.O_WRONLY, os.O_RDWR, os.O_WRONLY | os.O_TRUNC, os.O_WRONLY | os.O_APPEND):
            try:
                os.close(os.open(name, way))
                print("GOT a way to write", place)
            except OSError:
                pass
        for call in (lambda: os.chmod(name, 0o777), lambda: os.fchmod(fd, 0o777), lambda: os.truncate(name, 0),
                     lambda: os.utime(name, (1, 1)), lambda: os.setxattr(name, "user.x", b"y")):
            try:
                call()
                print("GOT a change of", place)
            except OSError:
                pass
        os.close(fd)
print("done")
P
echo mine > mine
nacre run 'cp mine own; python3 try.py own'
like 'control: with a file of its own it works' "$out" '*GOT a way to write*done'
rm -f made own
before=$(stat -c '%s %a %Y' /usr/bin/env /bin/sh /etc/ld.so.cache)
nacre run 'python3 try.py /usr/bin/env /bin/sh /etc/passwd /etc/hosts /etc/ld.so.cache /usr/lib/os-release /proc/self/exe /proc/version /proc/sys/kernel/core_pattern'
prints 'with what is shown it does not' 'done'
is 'nothing was linked' "$(ls)" $'mine\ntry.py'
is "and the host's files are what they were" "$(stat -c '%s %a %Y' /usr/bin/env /bin/sh /etc/ld.so.cache)" "$before"

done_testing

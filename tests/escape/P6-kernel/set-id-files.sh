#!/usr/bin/env bash
# P6: no file with a set-user-id bit is left behind. Started by root, it would be root's to the host.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"

cat > setid.py << 'P'
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
def file(name):
    fd = os.open(name, os.O_CREAT | os.O_WRONLY, 0o755)
    os.close(fd)
    return name.encode()
for bits in (0o4755, 0o6755):
    libc.chmod(file("a%o" % bits), bits)
    libc.fchmodat(-100, file("b%o" % bits), bits, 0)
    fd = os.open(file("c%o" % bits), os.O_RDONLY)
    libc.fchmod(fd, bits)
    libc.open(b"d%o" % bits, os.O_CREAT | os.O_WRONLY, bits)
    libc.openat(-100, b"e%o" % bits, os.O_CREAT | os.O_WRONLY, bits)
    libc.creat(b"f%o" % bits, bits)
    libc.mknod(b"g%o" % bits, 0o100000 | bits, 0)
    libc.mknodat(-100, b"h%o" % bits, 0o100000 | bits, 0)
    libc.syscall(452, -100, file("i%o" % bits), bits, 0)  # fchmodat2
    how = (ctypes.c_uint64 * 3)(os.O_CREAT | os.O_WRONLY, bits, 0)
    libc.syscall(437, -100, b"j%o" % bits, how, 24)  # openat2
    fd = libc.open(b".", os.O_TMPFILE | os.O_WRONLY, bits)
    if fd >= 0:
        os.link("/proc/self/fd/%d" % fd, "k%o" % bits, follow_symlinks=True)
    # High bits of a mode are not looked at by the kernel, and must not hide the low ones.
    libc.syscall(268, -100, file("l%o" % bits), ctypes.c_ulong(0xFFFF00000000 | bits))
print("tried")
P
nacre run 'python3 setid.py; cp /bin/true m; chmod u+s m 2>/dev/null; install -m 4755 /bin/true n 2>/dev/null; true'
like 'control: it was tried' "$out" '*tried*'
check 'control: files were made' test -e a4755
is 'no file with a set-user-id bit is left' "$(find . -perm /4000)" ''
if [ "$(id -u)" = 0 ]; then
    is 'started by root: nor with a set-group-id bit' "$(find . -type f -perm /2000)" ''
else
    nacre run 'mkdir d && chmod 2775 d && chmod -R u+rwX d'
    exits 'a shared directory of a user may have its set-group-id bit' 0
fi
nacre run 'touch p; chmod 755 p; chmod 1777 .; chmod 755 .'
exits 'every other mode can be given' 0

done_testing

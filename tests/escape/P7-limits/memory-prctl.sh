#!/usr/bin/env bash
# Runs alone.
# P7: memory that prctl makes the kernel take for a process (tables for futexes), and pages of the host's pool of
# huge ones, are not to be had: they would count for nobody.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"

cat > take.py << 'END'
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
tables = [n for n in range(4, 20) if libc.prctl(78, 1, ctypes.c_ulong(1 << n), 0, 0) == 0]
libc.mmap.restype = ctypes.c_void_p
huge = [f for f in (0x40022, 0x40021) if libc.mmap(None, ctypes.c_size_t(4 << 20), 3, f, -1, 0) not in (None, 2**64 - 1)]
segment = libc.shmget(0, ctypes.c_size_t(4 << 20), 0o4600 | 0o1000)
print("tables", tables, "pages", huge, "segment", segment)
END
pool=/proc/sys/vm/nr_hugepages
before=$(cat "$pool" 2> /dev/null)
if [ "$(id -u)" = 0 ] && [ "$before" = 0 ]; then echo 8 > "$pool"; fi
nacre run '/usr/bin/python3 take.py'
is 'no tables, no huge pages, no segment of them' "$out" 'tables [] pages [] segment -1'
if [ "$(id -u)" = 0 ] && [ "$before" = 0 ]; then echo 0 > "$pool"; fi
nacre run 'python3 -c "
import ctypes
libc = ctypes.CDLL(None)
print(libc.prctl(15, b\"renamed\"), libc.prctl(38, 1, 0, 0, 0), libc.prctl(36, 1), open(\"/proc/self/comm\").read().strip())"'
is 'control: what programs ask of prctl is there' "$out" '0 0 0 renamed'
done_testing

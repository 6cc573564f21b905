#!/usr/bin/env python3
"""What is in a directory, to be compared: an independent walk that knows nothing of nacre.

snapshot.py DIR            one line for each entry: name, type and mode, size, time, names, content, attributes
snapshot.py DIR --times no the same without times
"""
import hashlib
import os
import stat
import sys


def content(path, st):
    if stat.S_ISLNK(st.st_mode):
        return os.fsencode(os.readlink(path))
    if not stat.S_ISREG(st.st_mode):
        return b""
    digest = hashlib.sha256()
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    except PermissionError:
        return b"unreadable"
    with os.fdopen(fd, "rb") as file:
        at = 0
        while at < st.st_size:
            try:
                data = os.lseek(fd, at, os.SEEK_DATA)
            except OSError:
                break
            hole = os.lseek(fd, data, os.SEEK_HOLE)
            os.lseek(fd, data, os.SEEK_SET)
            # Blocks of zeros and holes are the same content.
            while data < hole:
                block = os.pread(fd, min(65536 - data % 65536, hole - data), data)
                if block.strip(b"\0"):
                    digest.update(b"%d:" % data + block)
                data += len(block)
            at = hole
    return digest.hexdigest().encode()


def attributes(path):
    try:
        names = os.listxattr(path, follow_symlinks=False)
        return sorted((n, os.getxattr(path, n, follow_symlinks=False)) for n in names)
    except OSError:
        return []


def snapshot(root, times=True):
    lines, first = [], {}
    todo = [b"."]
    root = os.fsencode(root)
    while todo:
        name = todo.pop()
        path = os.path.join(root, name)
        st = os.lstat(path)
        is_dir = stat.S_ISDIR(st.st_mode)
        if is_dir:
            try:
                entries = sorted(os.listdir(path))
            except PermissionError:
                entries = []
            todo += [os.path.join(name, n) if name != b"." else n for n in entries if n != b".nacre-store"]
        # Names of one file know each other by the first of them.
        group = b"" if is_dir or st.st_nlink == 1 else first.setdefault(st.st_ino, name)
        lines.append((name, oct(st.st_mode), 0 if is_dir else st.st_size, st.st_mtime_ns if times else 0, group,
                      0 if is_dir else st.st_nlink, content(path, st), attributes(path)))
    return sorted(lines)


if __name__ == "__main__":
    for line in snapshot(sys.argv[1], "--times" not in sys.argv):
        print(line)

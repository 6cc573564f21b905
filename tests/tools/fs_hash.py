#!/usr/bin/env python3
"""fs_hash of directories, written from docs/fs-hash.md alone, to compare nacre's with.

    fs_hash.py DIR...          the hash of each
    fs_hash.py --content FILE  the hash of one file's content
    fs_hash.py --random SEED DIR  fills DIR with a random tree
    fs_hash.py --mark DIR...   what may not be read counts as a marker
"""
import hashlib
import os
import random
import stat
import sys

CHUNK = 65536
GROUP = 64
MARK = False


def H(tag, *message):
    h = hashlib.sha256(b"nacre fs_hash 1" + tag)
    for piece in message:
        h.update(piece)
    return h.digest()


def number(value, size):
    return value.to_bytes(size, "big")


def content(path):
    size = os.stat(path, follow_symlinks=False).st_size
    with open(path, "rb") as f:
        if size <= CHUNK:
            return H(b"f", f.read())
        level, hashes = 0, []
        while chunk := f.read(CHUNK):
            hashes.append(H(b"k", chunk))
    while len(hashes) > 1:
        level += 1
        hashes = [
            H(b"n", number(level, 1), *hashes[i : i + GROUP]) for i in range(0, len(hashes), GROUP)
        ]
    return H(b"F", number(size, 8), hashes[0])


def entries(found, depth):
    if len(found) <= GROUP or depth == 16:
        return H(b"d", number(depth, 1), *(record for _, record in sorted(found)))
    parts = [[] for _ in range(16)]
    for name, record in found:
        key = int.from_bytes(H(b"N", name)[:8], "big")
        parts[key >> (60 - 4 * depth) & 15].append((name, record))
    return H(b"D", number(depth, 1), *(entries(part, depth + 1) for part in parts))


def letter(mode):
    return {
        stat.S_IFREG: b"f",
        stat.S_IFDIR: b"d",
        stat.S_IFLNK: b"l",
        stat.S_IFIFO: b"p",
        stat.S_IFSOCK: b"s",
        stat.S_IFCHR: b"c",
        stat.S_IFBLK: b"b",
    }[stat.S_IFMT(mode)]


def read(path, kind, st):
    if kind == b"f":
        return content(path)
    if kind == b"d":
        return directory(path)
    if kind == b"l":
        return H(b"l", os.readlink(path))
    if kind in b"cb":
        return H(kind, number(os.major(st.st_rdev), 4), number(os.minor(st.st_rdev), 4))
    return H(kind)


def directory(path):
    found = []
    names = os.listdir(path)
    os.stat(path + b"/.")
    for name in names:
        below = path + b"/" + name
        st = os.stat(below, follow_symlinks=False)
        kind = letter(st.st_mode)
        mode = 0 if kind == b"l" else st.st_mode & 0o7777
        try:
            inner = read(below, kind, st)
        except PermissionError:
            if not MARK:
                raise
            inner = H(b"u", kind)
        found.append((name, kind + number(mode, 2) + number(len(name), 2) + name + inner))
    return entries(found, 0)


def fs_hash(path):
    path = os.fsencode(path)
    return H(b"r", number(os.stat(path).st_mode & 0o7777, 2), directory(path)).hex()


SIZES = [0, 1, 100, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK, 64 * CHUNK, 64 * CHUNK + 1, 65 * CHUNK + 7]


def random_name(r):
    if r.random() < 0.6:
        return b"f%d" % r.randrange(10000)
    while True:
        name = bytes(r.randrange(1, 256) for _ in range(r.choice([1, 2, 3, 20, 255])))
        if b"/" not in name and name not in (b".", b".."):
            return name


def random_file(r, path):
    size = r.choice(SIZES) if r.random() < 0.03 else r.randrange(300)
    with open(path, "wb") as f:
        if size > CHUNK and r.random() < 0.5:
            f.truncate(size)
            f.seek(r.randrange(size))
            f.write(b"data"[: size - f.tell()])
        else:
            f.write(r.randbytes(size))


def random_tree(r, path, depth=0):
    """Large directories have no directories in them, so that trees stay small."""
    os.makedirs(path, exist_ok=True)
    large = depth and r.random() < 0.2
    for _ in range(r.choice([63, 64, 65, 66, 300, 1100]) if large else r.randrange(20)):
        below = path + b"/" + random_name(r)
        if os.path.lexists(below):
            continue
        what = r.random()
        if what < 0.2 and depth < 5 and not large:
            random_tree(r, below, depth + 1)
        elif what < 0.25:
            os.symlink(bytes(r.randrange(1, 256) for _ in range(r.randrange(1, 200))), below)
            continue
        elif what < 0.28:
            os.mkfifo(below)
        elif what < 0.30:
            os.mknod(below, stat.S_IFSOCK | 0o600)
        elif what < 0.31 and os.geteuid() == 0:
            os.mknod(below, r.choice([stat.S_IFCHR, stat.S_IFBLK]), os.makedev(r.randrange(300), r.randrange(70000)))
        else:
            random_file(r, below)
        os.chmod(below, r.choice([0o644, 0o755, 0o4711, 0o2755, 0o1777, 0o7777, 0o600]) | 0o700)


def main(words):
    global MARK
    if words[:1] == ["--content"]:
        print(content(os.fsencode(words[1])).hex())
    elif words[:1] == ["--random"]:
        random_tree(random.Random(int(words[1])), os.fsencode(words[2]))
    else:
        MARK = words[:1] == ["--mark"]
        for path in words[MARK:]:
            print(fs_hash(path))


if __name__ == "__main__":
    main(sys.argv[1:])

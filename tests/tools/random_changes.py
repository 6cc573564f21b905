#!/usr/bin/env python3
"""Random work in a directory: makes, writes, links, moves, deletes, swaps types, sets modes, times and attributes.

random_changes.py SEED COUNT     in the current directory
"""
import os
import random
import shutil
import stat
import sys

NAMES = [b"a", b"b", b"c", b"dir", b"src", b"x.txt", b".git", b".hidden", b"with space", b"new\nline", b"\xff\xfe", b"-rf",
         "größe".encode(), b"deep", b"log"]


def everything():
    found = []
    for base, dirs, files in os.walk(b"."):
        found += [os.path.join(base, n) for n in dirs + files]
    return found


def directories():
    return [b"."] + [p for p in everything() if os.path.isdir(p) and not os.path.islink(p)]


def work(rng, count):
    for _ in range(count):
        parent = rng.choice(directories())
        place = os.path.join(parent, rng.choice(NAMES) + (b"%d" % rng.randrange(6)))
        some = everything()
        old = rng.choice(some) if some else None
        is_file = old is not None and os.path.isfile(old) and not os.path.islink(old)
        act = rng.randrange(18)
        try:
            if act in (0, 1, 2):
                # Through no link, and into no pipe: this also works outside of any sandbox.
                fd = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_NONBLOCK, 0o644)
                with os.fdopen(fd, "wb") as f:
                    f.write(rng.randbytes(rng.choice([0, 3, 100, 5000, 70000])))
            elif act == 3 and is_file:
                with open(old, "ab") as f:
                    f.write(b"more\n")
            elif act == 4 and is_file:
                with open(old, "r+b") as f:
                    f.truncate(rng.randrange(2000))
            elif act == 5:
                os.makedirs(os.path.join(place, rng.choice(NAMES)), exist_ok=True)
            elif act == 6 and old:
                if os.path.isdir(old) and not os.path.islink(old):
                    shutil.rmtree(old)
                else:
                    os.unlink(old)
            elif act == 7 and old:
                shutil.move(os.fsdecode(old), os.fsdecode(place))
            elif act == 8 and is_file:
                os.link(old, place)
            elif act == 9:
                os.symlink(rng.choice([b"a", b"../b", b"nowhere", b"/nowhere/at/all"]), place)
            elif act == 10 and old and not os.path.islink(old):
                os.chmod(old, rng.choice([0o644, 0o600, 0o755, 0o400, 0o777, 0o700]) | (0o700 if os.path.isdir(old) else 0))
            elif act == 11 and old:
                os.utime(old, ns=(rng.randrange(10**18), rng.randrange(10**18)), follow_symlinks=False)
            elif act == 12 and old and not os.path.islink(old):
                os.setxattr(old, b"user.note%d" % rng.randrange(3), rng.randbytes(rng.randrange(40)))
            elif act == 13 and is_file:  # a file becomes a directory
                os.unlink(old)
                os.mkdir(old)
                open(os.path.join(old, b"in"), "wb").close()
            elif act == 14 and old and os.path.isdir(old) and not os.path.islink(old):  # and the other way round
                shutil.rmtree(old)
                with open(old, "wb") as f:
                    f.write(b"was a directory")
            elif act == 15:
                os.mkfifo(place)
            elif act == 16 and old and os.path.isdir(old) and not os.path.islink(old):  # the same names anew
                shutil.rmtree(old)
                os.mkdir(old)
                for n in NAMES[:3]:
                    with open(os.path.join(old, n + b"0"), "wb") as f:
                        f.write(n)
            elif act == 17 and is_file:  # as editors save
                with open(old + b"~", "wb") as f:
                    f.write(b"saved")
                os.rename(old + b"~", old)
        except OSError:
            pass


if __name__ == "__main__":
    work(random.Random(int(sys.argv[1])), int(sys.argv[2]))

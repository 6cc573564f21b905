#!/usr/bin/env python3
"""Verifies a ledger. Written from docs/ledger.md alone; shares no code with nacre.

    ledger_verify.py DIR [CHECKPOINT-FILE]

Prints "SIZE ROOT" and exits 0 when it is good, else says what is wrong and exits 1. Only the
standard library; Ed25519 by the openssl program.
"""
import base64
import hashlib
import os
import struct
import subprocess
import sys
import tempfile


class Damage(Exception):
    pass


def need(condition, *what):
    if not condition:
        raise Damage(" ".join(str(w) for w in what))


def crc_table():
    table = []
    for number in range(256):
        for _ in range(8):
            number = number >> 1 ^ (0x82F63B78 if number & 1 else 0)
        table.append(number)
    return table


TABLE = crc_table()


def crc32c(data):
    value = 0xFFFFFFFF
    for byte in data:
        value = value >> 8 ^ TABLE[(value ^ byte) & 0xFF]
    return value ^ 0xFFFFFFFF


assert crc32c(b"123456789") == 0xE3069283


def sha256(data):
    return hashlib.sha256(data).digest()


class Tree:
    def __init__(self):
        self.size = 0
        self.edge = {}

    def add(self, leaf):
        bit = 0
        while self.size >> bit & 1:
            leaf = sha256(b"\1" + self.edge[bit] + leaf)
            bit += 1
        self.edge[bit] = leaf
        self.size += 1

    def bits(self):
        return [bit for bit in range(64) if self.size >> bit & 1]

    def root(self):
        root = None
        for bit in self.bits():
            root = self.edge[bit] if root is None else sha256(b"\1" + self.edge[bit] + root)
        return sha256(b"") if root is None else root

    def edge_bytes(self):
        return b"".join(self.edge[bit] for bit in reversed(self.bits()))


class Key:
    def __init__(self, text):
        self.name, number, data = text.rstrip("\n").split("+", 2)
        data = base64.b64decode(data, validate=True)
        need(len(data) == 33 and data[0] == 1, "not an Ed25519 key")
        self.public = data[1:]
        self.id = sha256(self.name.encode() + b"\n\1" + self.public)[:4]
        need(self.id.hex() == number, "the key's id does not fit")

    def check(self, text, signature):
        with tempfile.TemporaryDirectory() as place:
            def put(name, data):
                path = os.path.join(place, name)
                with open(path, "wb") as file:
                    file.write(data)
                return path
            prefix = bytes.fromhex("302a300506032b6570032100")
            command = ["openssl", "pkeyutl", "-verify", "-rawin", "-pubin", "-keyform", "DER",
                       "-inkey", put("key", prefix + self.public), "-in", put("text", text),
                       "-sigfile", put("signature", signature)]
            need(subprocess.run(command, capture_output=True, check=False).returncode == 0,
                 "a signature is wrong")


class Note:
    """One note at the start of `data`; `rest` is what follows it."""

    def __init__(self, data, key):
        lines = data.split(b"\n")
        need(len(lines) >= 6 and lines[3] == b"", "not a checkpoint")
        need(lines[0] == key.name.encode(), "a checkpoint of another ledger")
        need(lines[1].isdigit() and str(int(lines[1])).encode() == lines[1], "a size")
        self.size = int(lines[1])
        self.root = base64.b64decode(lines[2], validate=True)
        self.text = b"\n".join(lines[:3]) + b"\n"
        self.signature = None
        at = 4
        while at < len(lines) and lines[at].startswith("— ".encode()):
            _, name, signature = lines[at].split(b" ")
            if name == key.name.encode():
                signature = base64.b64decode(signature, validate=True)
                if signature[:4] == key.id and len(signature) == 68:
                    self.signature = signature[4:]
            at += 1
        need(self.signature, "a checkpoint that is not signed with the key")
        self.rest = b"\n".join(lines[at:])


def notes(data, key):
    data = data.lstrip(b"\n")
    while data:
        note = Note(data, key)
        key.check(note.text, note.signature)
        yield note
        data = note.rest.lstrip(b"\n")


def tile_name(number):
    digits = str(number)
    digits = digits.zfill((len(digits) + 2) // 3 * 3)
    groups = [digits[i:i + 3] for i in range(0, len(digits), 3)]
    return "/".join(["x" + group for group in groups[:-1]] + groups[-1:])


def frames(data, name):
    """Whole frames; then what is left."""
    at, before, back = 8, 0, 0
    while at + 24 <= len(data):
        length, total, is_before, is_back = struct.unpack_from("<IIII", data, at)
        index = int.from_bytes(data[at + 16:at + 23], "little")
        kind = data[at + 23]
        end = at + 24 + length
        if kind not in (1, 2, 3) or length > 65535 or end > len(data):
            break
        if crc32c(data[at + 8:end]) != total or is_before != before or is_back != back:
            break
        yield kind, index, data[at + 24:end], at
        before, back, at = total, 24 + length, end
    yield 0, 0, data[at:], at


class Verifier:
    def __init__(self, place, kept):
        self.place = place
        with open(os.path.join(place, "key.pub"), encoding="ascii") as file:
            self.key = Key(file.read())
        self.tree = Tree()
        self.signed = None
        self.expected = {}
        for path in [os.path.join(place, "checkpoint")] + kept:
            if os.path.exists(path):
                with open(path, "rb") as file:
                    for note in notes(file.read(), self.key):
                        self.expected.setdefault(note.size, set()).add(note.root)

    def compare(self):
        for root in self.expected.get(self.tree.size, ()):
            need(root == self.tree.root(), "the first", self.tree.size, "entries are others")

    def add(self, leaf):
        self.compare()
        self.tree.add(leaf)

    def note(self, data, index):
        note = Note(data, self.key)
        need(note.rest == b"", "more than a checkpoint")
        need(note.size == index == self.tree.size, "a checkpoint for another size")
        need(note.root == self.tree.root(), "a checkpoint with another root")
        self.signed = note

    def dropped(self, first):
        tile = b""
        while self.tree.size < first:
            if self.tree.size % 256 == 0:
                path = os.path.join(self.place, "tile/0", tile_name(self.tree.size // 256))
                with open(path, "rb") as file:
                    tile = file.read()
                need(len(tile) == 8192, path)
            at = self.tree.size % 256 * 32
            self.add(tile[at:at + 32])

    def rest(self, data, last, where):
        """What stands behind the last whole frame."""
        if not last:
            need(not data.strip(b"\0"), where, "is no frame")
            return
        at = data.find(b"\n\n\xe2\x80\x94 ")
        while at >= 0:
            # A checkpoint of this key for more records than these: some are missing.
            start = data.rfind(self.key.name.encode() + b"\n", 0, at)
            if start >= 0:
                try:
                    end = data.index(b"\n", at + 2) + 1
                    note = Note(data[start:end], self.key)
                    need(note.size > self.tree.size, "an old one")
                    self.key.check(note.text, note.signature)
                except (Damage, ValueError):
                    pass
                else:
                    raise Damage(where + " is damaged: something signed follows")
            at = data.find(b"\n\n\xe2\x80\x94 ", at + 1)

    def segment(self, name, last):
        with open(os.path.join(self.place, "segment", name), "rb") as file:
            data = file.read()
        need(data[:8] == b"nacrelg1", name, "is no segment")
        first = True
        for kind, index, payload, at in frames(data, name):
            where = f"segment {name} at byte {at}"
            if kind == 0:
                need(not first, where, "has no start")
                self.rest(payload, last, where)
                break
            need((kind == 3) == first, where, "is out of place")
            need(index == self.tree.size, where, "is out of order")
            if kind == 3:
                need(index == int(name), where, "does not fit its name")
                edge = self.tree.edge_bytes()
                need(payload.startswith(edge), where, "has another tree")
                self.note(payload[len(edge):], index)
                self.key.check(self.signed.text, self.signed.signature)
            elif kind == 1:
                self.add(sha256(b"\0" + payload))
            else:
                self.note(payload, index)
            first = False
        need(last or self.signed.size == self.tree.size, name, "ends without a checkpoint")

    def run(self):
        names = sorted(n for n in os.listdir(os.path.join(self.place, "segment"))
                       if len(n) == 20 and n.isdigit())
        need(names, "no segment")
        self.dropped(int(names[0]))
        for name in names:
            self.segment(name, name == names[-1])
        self.compare()
        self.key.check(self.signed.text, self.signed.signature)
        for size in self.expected:
            need(size <= self.signed.size, "cut:", size, "entries were signed once")
        return self.signed


def main():
    try:
        head = Verifier(sys.argv[1], sys.argv[2:]).run()
    except (Damage, OSError, ValueError, IndexError) as error:
        print("damaged:", error)
        return 1
    print(head.size, base64.b64encode(head.root).decode())
    return 0


if __name__ == "__main__":
    sys.exit(main())

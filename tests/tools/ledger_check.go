// Checks a published ledger with golang.org/x/mod/sumdb, which knows nothing of nacre: the signed
// note, the tree from its tiles, every record, proofs, and that an older checkpoint is contained.
//
//	ledger_check DIR OLD-CHECKPOINT PROOF…
package main

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "ledger_check:", err)
		os.Exit(1)
	}
}

func fail(format string, args ...interface{}) {
	check(fmt.Errorf(format, args...))
}

// open verifies a checkpoint's signature and takes its three lines apart.
func open(text []byte, verifier note.Verifier) tlog.Tree {
	n, err := note.Open(text, note.VerifierList(verifier))
	check(err)
	lines := strings.Split(n.Text, "\n")
	if len(lines) != 4 || lines[0] != verifier.Name() {
		fail("a checkpoint of %d lines, origin %q", len(lines), lines[0])
	}
	size, err := strconv.ParseInt(lines[1], 10, 64)
	check(err)
	hash, err := tlog.ParseHash(lines[2])
	check(err)
	return tlog.Tree{N: size, Hash: hash}
}

// tiles reads files in the layout of C2SP, which leaves out the height that Go's paths have.
type tiles string

func (t tiles) Height() int { return 8 }

func (t tiles) SaveTiles([]tlog.Tile, [][]byte) {}

func (t tiles) ReadTiles(list []tlog.Tile) ([][]byte, error) {
	var all [][]byte
	for _, tile := range list {
		path := "tile/" + strings.TrimPrefix(tile.Path(), "tile/8/")
		data, err := os.ReadFile(filepath.Join(string(t), path))
		if err != nil {
			return nil, err
		}
		all = append(all, data)
	}
	return all, nil
}

// entries gives all records, from the entry bundles.
func entries(dir string, size int64) [][]byte {
	var all [][]byte
	for n := int64(0); n*256 < size; n++ {
		width := 256
		if size-n*256 < 256 {
			width = int(size - n*256)
		}
		path := "tile/entries/" + strings.TrimPrefix((tlog.Tile{H: 8, L: 0, N: n, W: width}).Path(), "tile/8/0/")
		data, err := os.ReadFile(filepath.Join(dir, path))
		check(err)
		for i := 0; i < width; i++ {
			length := int(data[0])<<8 | int(data[1])
			all = append(all, data[2:2+length])
			data = data[2+length:]
		}
		if len(data) != 0 {
			fail("%s: %d bytes too many", path, len(data))
		}
	}
	return all
}

func main() {
	dir := os.Args[1]
	key, err := os.ReadFile(filepath.Join(dir, "key.pub"))
	check(err)
	verifier, err := note.NewVerifier(strings.TrimSpace(string(key)))
	check(err)
	text, err := os.ReadFile(filepath.Join(dir, "checkpoint"))
	check(err)
	tree := open(text, verifier)
	reader := tlog.TileHashReader(tree, tiles(dir))

	records := entries(dir, tree.N)
	for i, record := range records {
		hashes, err := reader.ReadHashes([]int64{tlog.StoredHashIndex(0, int64(i))})
		check(err)
		if hashes[0] != tlog.RecordHash(record) {
			fail("record %d is not in the tree", i)
		}
	}
	old, err := os.ReadFile(os.Args[2])
	check(err)
	before := open(old, verifier)
	proof, err := tlog.ProveTree(tree.N, before.N, reader)
	check(err)
	check(tlog.CheckTree(proof, tree.N, tree.Hash, before.N, before.Hash))

	for _, name := range os.Args[3:] {
		data, err := os.ReadFile(name)
		check(err)
		parts := strings.SplitN(string(data), "\n\n", 2)
		lines := strings.Split(parts[0], "\n")
		if lines[0] != "c2sp.org/tlog-proof@v1" {
			fail("%s: %s", name, lines[0])
		}
		index, err := strconv.ParseInt(strings.TrimPrefix(lines[1], "index "), 10, 64)
		check(err)
		var path tlog.RecordProof
		for _, line := range lines[2:] {
			bytes, err := base64.StdEncoding.DecodeString(line)
			check(err)
			var hash tlog.Hash
			copy(hash[:], bytes)
			path = append(path, hash)
		}
		at := open([]byte(parts[1]), verifier)
		check(tlog.CheckRecord(path, at.N, at.Hash, index, tlog.RecordHash(records[index])))
	}
	fmt.Printf("%d records, %d proofs\n", len(records), len(os.Args)-3)
}

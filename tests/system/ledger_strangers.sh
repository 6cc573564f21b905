# shellcheck shell=bash disable=SC2317 # functions that are called by their names
# Strangers verify the ledger: Go's checksum database, openssl, and a program written from the page.
. "${STAGE:?}/tests/lib.sh"
ledger=$TOOLS/ledger
dir=$scratch/ledger

"$ledger" append "$dir" 300 first 40000 > "$scratch/acks"
"$ledger" checkpoint "$dir" > "$scratch/old"
"$ledger" later "$dir" 70000 second
printf '%b' 'a\nb\0c\377\033[2J' | "$ledger" record "$dir" > "$scratch/index"
is 'a record with bytes that break other formats' "$(cat "$scratch/index")" 70300
"$ledger" publish "$dir" entries
for index in 0 255 256 65535 65536 70300; do
    "$ledger" prove "$dir" "$index" > "$scratch/proof.$index"
done

# --- Go ---

mkdir -p "$scratch/go"
cp "$STAGE/tests/tools/ledger_check.go" "$scratch/go/"
export GO111MODULE=off GOPATH=/usr/share/gocode GOCACHE=$scratch/cache HOME=$scratch
if command -v go > /dev/null && [ -d /usr/share/gocode/src/golang.org/x/mod/sumdb ]; then
    check 'the Go program builds' go build -o "$scratch/check" "$scratch/go/ledger_check.go"
    is 'Go verifies note, tiles, all records, consistency and proofs' \
        "$("$scratch/check" "$dir" "$scratch/old" "$scratch"/proof.* 2>&1)" '70301 records, 6 proofs'
    # It would notice.
    cp -r "$dir" "$scratch/changed"
    printf 'X' | dd of="$scratch/changed/tile/entries/100" bs=1 seek=50 conv=notrunc 2> /dev/null
    refute 'and not when a record was changed' "$scratch/check" "$scratch/changed" "$scratch/old"
else
    skip 'Go verifies' 'golang-go or golang-golang-x-mod-dev is not installed'
fi

# --- openssl ---

# The public key in the form that openssl reads: a fixed prefix and the 32 bytes.
key=$(cut -d+ -f3- "$dir/key.pub")
{
    printf '\x30\x2a\x30\x05\x06\x03\x2b\x65\x70\x03\x21\x00'
    printf '%s' "$key" | base64 -d | tail -c 32
} > "$scratch/key.der"
sed '/^$/,$d' "$dir/checkpoint" > "$scratch/text"
tail -1 "$dir/checkpoint" | cut -d' ' -f3 | base64 -d | tail -c 64 > "$scratch/signature"
verify_signature() {
    openssl pkeyutl -verify -rawin -pubin -keyform DER -inkey "$scratch/key.der" -in "$1" -sigfile "$scratch/signature"
}
check 'openssl verifies the signature' verify_signature "$scratch/text"
sed 's/^70301$/70302/' "$scratch/text" > "$scratch/text.changed"
refute 'and not of another text' verify_signature "$scratch/text.changed"

# --- the page ---

reference=$STAGE/tests/tools/ledger_verify.py
check 'the program written from the page verifies the ledger' python3 "$reference" "$dir"
check 'and with an old checkpoint' python3 "$reference" "$dir" "$scratch/old"
is 'both find the same root' "$(python3 "$reference" "$dir" | tail -1)" \
    "$("$STAGE/usr/local/bin/nacre-verify" --json "$dir" | jq -r '"\(.size) \(.root)"')"
for segment in "$dir"/segment/*; do :; done
cp "$segment" "$scratch/segment"
size=$(python3 -c 'import sys; print(len(open(sys.argv[1], "rb").read().rstrip(b"\0")))' "$segment")
found=0
for _ in 1 2 3 4 5; do
    printf '\xA5' | dd of="$segment" bs=1 seek=$((RANDOM * 32768 % (size - 10000) + RANDOM % 10000 + 8)) conv=notrunc 2> /dev/null
    if cmp -s "$segment" "$scratch/segment" ||
        { ! python3 "$reference" "$dir" > /dev/null 2>&1 && ! "$STAGE/usr/local/bin/nacre-verify" "$dir" > /dev/null; }; then
        found=$((found + 1))
    fi
    cp "$scratch/segment" "$segment"
done
is 'both find changed bytes' "$found" 5
done_testing

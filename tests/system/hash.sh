#!/usr/bin/env bash
# nacre hash: the command, and its hashes against the reference that was written from the page.
. "$(dirname "$0")/../lib.sh"
umask 022
reference=$(dirname "$0")/../tools/fs_hash.py

# --- the test vectors of docs/fs-hash.md ---

mkdir "$scratch/v"
cd "$scratch/v" || exit
mkdir empty one few many
touch one/a
printf 'hello\n' > few/hello
ln -s hello few/link
mkdir few/sub
mkfifo -m 644 few/sub/pipe
for ((i = 0; i < 100; i++)); do printf %d $i > many/$i; done
while read -r name hash; do
    nacre hash "$name"
    prints "vector: $name" "$hash"
    is "vector: $name, by the reference" "$(python3 "$reference" "$name")" "$hash"
done << 'END'
empty 0626e0fe47f9755c1e3dd09574d4facc883b3d3e849c698e8d6bbef14259a49b
one 95876ed063b4a81779cb93d20c2d797e27ae31681b26a9d8635c1bbccd123f87
few 53f6485384e386b206d77ab696d06b50193c715fbc606ae2b11b9d52a64c0bda
many ef83b5f11ab6fe35c0d1c538235d27e68ee24a69d240847c1bf06075b493474f
END

# --- random trees ---

for ((seed = 1; seed <= 12 * SOAK; seed++)); do
    rm -rf "$scratch/random"
    mkdir "$scratch/random"
    python3 "$reference" --random "$seed" "$scratch/random"
    nacre hash "$scratch/random"
    prints "random tree $seed" "$(python3 "$reference" "$scratch/random")"
done
rm -rf "$scratch/random"

# --- the command ---

mkdir -p "$scratch/w/.git" "$scratch/w/sub"
cd "$scratch/w/sub" || exit
printf 12345 > file
nacre hash ..
whole=$out
nacre hash
prints 'the workspace is the default' "$whole"
nacre hash --json .
is 'as JSON' "$(jq -c '[.path, .files, .bytes]' <<< "$out")" '[".",1,5]'
nacre hash .
is 'the same hash' "$(jq -r .fs_hash < <("$NACRE" hash --json .))" "$out"
nacre hash a b
complains 'two directories' 2 'nacre: hash: takes one directory'
nacre hash --what
complains 'an unknown option' 2 "nacre: hash: unknown option '--what'*"
nacre hash file
complains 'a file' 1 "nacre: hash: 'file': Not a directory"
nacre hash /nonexistent
complains 'nothing' 1 "nacre: hash: '/nonexistent': No such file*"
truncate -s 1T large
nacre hash .
exits 'a sparse terabyte' 0
rm large
if [ "$(id -u)" -ne 0 ]; then
    mkdir -p closed/inner
    chmod 0 closed/inner
    nacre hash .
    complains 'an unreadable directory' 1 "nacre: hash: '.': cannot read 'closed/inner': Permission denied"
    chmod 755 closed/inner
    touch closed/inner/file
    chmod 0 closed/inner/file
    nacre hash .
    complains 'an unreadable file' 1 "nacre: hash: '.': cannot read 'closed/inner/file': Permission denied"
else
    mkdir proc
    # shellcheck disable=SC2016 # for the other shell
    if unshare --mount sh -c 'mount -t proc proc proc && "$0" hash . > "$1"' "$NACRE" "$scratch/with"; then
        nacre hash .
        unlike 'the kernel'\''s directory is not entered, and not nothing' "$out" "$(cat "$scratch/with")"
    else
        skip 'the kernel'\''s directory' 'no mount namespace'
    fi
fi
done_testing

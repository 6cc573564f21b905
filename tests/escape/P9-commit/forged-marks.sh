#!/usr/bin/env bash
# P9: overlay's own attributes and whiteouts cannot be forged from inside, and mean nothing in what was there.
# shellcheck disable=SC2016,SC2317 # texts for the inside; functions that are called by traps

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"
base=$PWD
mkdir ws store
export XDG_STATE_HOME=$base/store
trap 'chmod -R u+rwx "$base" 2> /dev/null; rm -rf "$scratch"' EXIT

mkdir -p ws/keep/deep ws/redirected "$scratch/victim"
echo x > ws/keep/a
echo x > ws/keep/deep/b
echo x > ws/file
echo secret > "$scratch/victim/secret"
snapshot() { /usr/bin/python3 "$STAGE/tests/tools/snapshot.py" ws --times no; }
before=$(snapshot)
cat > "$scratch/forge.py" << 'P'
import os, sys
names = ["opaque", "origin", "redirect", "whiteout", "metacopy", "impure", "nlink", "upper", "uuid", "protattr", "overlay.opaque", "overlay.whiteout"]
values = [b"y", b"x", b"/etc", sys.argv[1].encode(), b"", b"\x00\xfb\x00\x00"]
for place in ["keep", "keep/deep", "keep/a", "file", "redirected", "."]:
    for prefix in ["user.overlay.", "trusted.overlay."]:
        for name in names:
            for value in values:
                try:
                    os.setxattr(place, prefix + name, value)
                except OSError:
                    pass
for place in ["keep/a", "file", "new", "keep/null"]:
    try:
        os.mknod(place + "-dev", 0o20644, 0)
        print("GOT a whiteout")
    except OSError:
        pass
try:
    os.unlink("keep/a")
    os.mknod("keep/a", 0o20644, 0)
    print("GOT a whiteout in place")
except OSError:
    with open("keep/a", "w") as f:
        f.write("x\n")
open("keep/deep/new", "w").close()
P
nacre run -w ws --json --read-path "$scratch/forge.py" "/usr/bin/python3 $scratch/forge.py $scratch/victim"
is 'nothing can be made that is a whiteout' "$(jq -r .stdout "$scratch/out")" ''
id=$(jq -r .correlation_id "$scratch/out")
check 'what was there is there' test -e ws/keep/a -a -e ws/keep/deep/b -a -e ws/file
check 'and what is new' test -e ws/keep/deep/new
attributes() { /usr/bin/python3 -c 'import os
for d, ds, fs in os.walk("ws"):
    for n in ["."] + ds + fs:
        for a in os.listxattr(os.path.join(d, n), follow_symlinks=False):
            print(a)' | grep overlay | sort -u; }
is 'no such attribute is left' "$(attributes)" ''
check 'undone' "$NACRE" undo "$id"
is 'as before' "$(snapshot)" "$before"
# What somebody has unpacked there.
/usr/bin/python3 - "$scratch/victim" << 'P'
import os, sys
for place, name, value in [("ws/keep", "opaque", b"y"), ("ws/redirected", "redirect", sys.argv[1].encode()), ("ws/file", "whiteout", b"y"),
                           ("ws/keep/deep", "opaque", b"x"), ("ws/keep/deep/b", "whiteout", b""), ("ws/keep/a", "metacopy", b"")]:
    os.setxattr(place, "user.overlay." + name, value)
P
before=$(snapshot)
nacre run -w ws --json "ls -R . ; cat redirected/secret; echo y > keep/new; echo y > redirected/new; echo more >> keep/a; touch keep/deep/n"
unlike 'attributes that are there lead nowhere' "$(jq -r .stdout "$scratch/out")" '*secret*'
check 'and hide nothing from us' test -e ws/keep/deep/b -a -e ws/file
is_file 'nor lose anything' ws/keep/deep/b $'x\n'
if [ "$(jq -r .status "$scratch/out")" = ok ]; then
    check 'undone' "$NACRE" undo "$(jq -r .correlation_id "$scratch/out")"
fi
is 'as before, again' "$(snapshot)" "$before"

done_testing

#!/usr/bin/env bash
# What the policy says of paths, variables and the network is built: as configuration and as options.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

umask 022
here=$PWD
secret="secret-$(unique)"
mkdir -p ws ref/sub out beside home
export HOME=$here/home
echo public > ref/file
echo deep > ref/sub/file
echo "$secret" > beside/file
echo single > single
echo "$secret" > single-not
ln -s ref link-to-ref
ln -s file ref/inner-link
ln -s "$here/beside/file" ref/outer-link

# Writes a configuration of the user's and names it for `nacre run`.
config() { printf '%s\n' "$@" > "$scratch/config.yaml"; }
with() { nacre run -w ws --config "$scratch/config.yaml" "$@"; }
state() { find "$@" -printf '%p %y %s %m %T@ %n %l\n' | sort; }

# --- paths.read -------------------------------------------------------------------------------------------

config "paths: {read: [$here/ref, $here/single]}"
with "cat $here/ref/file $here/ref/sub/file $here/ref/inner-link $here/single; ls -A $here"
prints 'paths.read: a directory and a file are shown where they are' $'public\ndeep\npublic\nsingle\nhome\nref\nsingle\nws'
before=$(state ref single beside)
with "echo harm > $here/ref/file; echo harm > $here/ref/new; rm -rf $here/ref/sub $here/single; echo harm >> $here/single; mv $here/single $here/moved; chmod 777 $here/ref $here/single; touch $here/ref; ln $here/single ws-hard; true"
is 'to be read only' "$(state ref single beside)" "$before"
is 'and nothing lands in the workspace' "$(ls -A ws)" ''
with "cat $here/ref/outer-link $here/beside/file $here/single-not $here/ref/../beside/file"
unlike 'nothing beside them is, nor what their links lead to' "$out$err" "*$secret*"
config "paths: {read: [$here/link-to-ref]}"
with "cat $here/link-to-ref/file $here/ref/file; readlink $here/link-to-ref"
is 'a path that is a link is shown with its target' "$out" "public"$'\n'"public"$'\n'"$here/ref"
config "paths: {read: [$here/nowhere, $here/ref]}"
with "cat $here/ref/file; ls $here/nowhere"
like 'a path that is not there is warned of' "$err" "*nacre: warning: paths.read: '$here/nowhere' is not there*"
like 'and the rest is shown' "$out" 'public*'
check 'it is not made' test ! -e nowhere
mkdir home/reference
echo home > home/reference/file
echo "$secret" > home/file
config 'paths: {read: [~/reference]}'
with 'cat ~/reference/file; ls -A ~'
prints 'a path below the home, which stays empty but for it' $'home\nreference'
config "paths: {read: [$here/ref/sub, $here/ref]}"
with "cat $here/ref/file $here/ref/sub/file"
prints 'a path and one below it' $'public\ndeep'
config "paths: {read: [$here/ws/sub]}"
mkdir ws/sub
with 'echo x > sub/f && cat sub/f'
prints 'a path of the workspace is what it was' x
rm -r ws/sub

nacre run -w ws --read-path "$here/ref" --read-path "$here/single" "cat $here/ref/file $here/single"
prints '--read-path, twice' $'public\nsingle'
nacre run -w ws --read-path "$here/nowhere" 'echo ran'
is '--read-path that is not there' "$out$code" ran0
like 'is warned of' "$err" '*nowhere*not there*'
nacre run -w ws --json --read-path "$here/nowhere" 'true'
check 'in the JSON, too' jq -e '.warnings | any(test("nowhere"))' "$scratch/out"

# --- paths.write ------------------------------------------------------------------------------------------

echo old > out/file
config "paths: {write: [$here/out, $here/single]}"
with "cat $here/out/file; echo new > $here/out/file; mkdir -p $here/out/dir; echo more >> $here/single; stat -c %U $here/out/file; ls -A $here"
is 'paths.write: a directory and a file can be changed' "$out" $'old\nagent\nhome\nout\nsingle\nws'
like 'of which the file is written to at once, as is told' "$err" 'nacre: warning: *cannot be undone: *single file*'
is_file 'and are' out/file $'new\n'
is_file 'the file, too' single $'single\nmore\n'
is 'what is made belongs to the owner' "$(stat -c %u:%g out/dir)" "$(stat -c %u:%g out)"
with "rm -rf $here/out; mv $here/out $here/out2; echo harm > $here/beside/file; echo harm > $here/new; true"
check 'the place itself stays' test -d out
is 'nothing beside it is written' "$(cat beside/file)$(ls -d new out2 2> /dev/null)" "$secret"
mkdir -p out
nacre run -w ws --write-path "$here/out" "echo option > $here/out/by-option"
is_file '--write-path' out/by-option $'option\n'
nacre run -w ws --write-path "$here/link-to-out" 'echo ran'
like '--write-path that is not there is warned of' "$err" '*link-to-out*not there*'
ln -s out link-to-out
nacre run -w ws --write-path "$here/link-to-out" "echo by-link > $here/link-to-out/linked; echo direct > $here/out/direct"
is '--write-path that is a link' "$(cat out/linked out/direct)" $'by-link\ndirect'
nacre run -w ws --read-path "$here/out" --write-path "$here/out/inner" "echo x > $here/out/harm; echo x > $here/out/inner/f"
check 'a missing write path below a read one opens nothing' test ! -e out/harm -a ! -e out/inner
mkdir out/inner
nacre run -w ws --read-path "$here/out" --write-path "$here/out/inner" "cat $here/out/file >/dev/null; echo x > $here/out/harm; echo x > $here/out/inner/f; true"
check 'a write path below a read path is writable' test -e out/inner/f
check 'and it alone' test ! -e out/harm

# --- what cannot be had -----------------------------------------------------------------------------------

for path in / /proc /proc/self /dev /dev/null /dev/pts; do
    nacre run -w ws --read-path "$path" 'touch ran'
    complains "--read-path $path is refused" 125 "nacre: *'$path'*"
done
for path in / /proc /dev /etc /usr /bin /sys /usr/lib /tmp /home; do
    nacre run -w ws --write-path "$path" 'touch ran'
    complains "--write-path $path is refused" 125 "nacre: *'$path'*"
done
config 'paths: {read: [/proc/1]}'
with 'touch ran'
exits 'in a configuration, too' 125
nacre run -w ws --read-path relative 'touch ran'
complains 'a relative one is refused' 125 "nacre: *'relative' must start with*"
mkfifo pipe
nacre run -w ws --read-path "$here/pipe" 'touch ran'
complains 'so is what is neither file nor directory' 125 "nacre: *'$here/pipe'*"
ln -s / link-to-root
nacre run -w ws --read-path "$here/link-to-root" 'touch ran'
complains 'a link to the root' 125 "nacre: *'$here/link-to-root'*"
ln -s /proc link-to-proc
nacre run -w ws --read-path "$here/link-to-proc" 'touch ran'
exits 'a link to /proc' 125
check 'none of these ran' test ! -e ws/ran
nacre run -w ws --read-path /tmp 'echo ran'
is 'a scratch place of the host can be listed' "$out$code" ran0
mkdir -p home/.cargo/bin
PATH=$HOME/.cargo/bin:$PATH nacre run -w ws --read-path "$HOME" 'cat ~/reference/file'
is 'so can a home that holds a toolchain' "$out$code" home0
chmod 700 home
PATH=$HOME/.cargo/bin:$PATH nacre run -w ws --read-path "$HOME" 'echo ran'
is "also one that is its owner's alone" "$out$code" ran0
chmod 755 home

# --- hide ---------------------------------------------------------------------------------------------------

mkdir -p ws/private/deep ws/sub
echo "$secret" > ws/.env
echo "$secret" > ws/private/deep/file
echo "$secret" > ws/sub/key
ln -s .env ws/env-link
ln ws/sub/key ws/hard-link
rm ws/hard-link
before=$(state ws)
config "paths: {hide: [.env, private, sub/key, not-there, not/there/either], read: [$here/ref], protect: [later]}" "shell: {allow: [cat]}"
with "cat .env ./.env $here/ws/.env env-link sub/key sub/../.env private/deep/file /proc/self/cwd/.env; cd sub; cat key ../.env; cd ../private && ls -A; cat deep/file; true"
unlike 'hide: no name leads to what is hidden' "$out$err" "*$secret*"
with 'cp -r . /tmp/copy; tar cf /tmp/t .; grep -rs '"$secret"' . /tmp; find . -type f -size +0 -exec cat {} +; true'
unlike 'no copy or archive has it' "$out" "*$secret*"
with 'mv .env seen; ln .env seen; ln -s .env seen2; mv private seen3; mv sub sub2; cat seen seen2 seen3/deep/file sub2/key; mv sub2 sub; rm -f seen2; true'
unlike 'no new name does either' "$out$err" "*$secret*"
with 'rm -rf .env private sub/key; echo harm > .env; true'
is_file 'what is hidden is not harmed' ws/.env "$secret"$'\n'
is 'nothing is left behind in the workspace: no stubs for what is hidden, protected or not there' \
    "$(state ws | cut -d' ' -f1-4)" "$(cut -d' ' -f1-4 <<< "$before")"
config "paths: {hide: [$here/ref/sub], read: [$here/ref]}"
with "cat $here/ref/file $here/ref/sub/file"
is 'a part of a read path can be hidden' "$out" public
ln -s private ws/hide-link
config 'paths: {hide: [hide-link]}'
with 'cat private/deep/file hide-link/deep/file'
complains 'hiding a link that a command could change is refused' 125 "nacre: *paths.hide: 'hide-link'*list 'private' too"
config 'paths: {hide: [hide-link, private]}'
with 'cat private/deep/file hide-link/deep/file; echo looked'
is 'with what it leads to, both are hidden' "$out" looked
ln -s ws/private hide-link
config "paths: {hide: [$here/hide-link]}"
with 'cat private/deep/file; echo looked'
is 'hiding a link of the user'"'"'s own hides what it leads to' "$out" looked
rm ws/hide-link
config "paths: {hide: [$here/ws]}"
with 'echo ran'
complains 'the workspace cannot be hidden' 125 "nacre: *'$here/ws'*"
config "paths: {hide: [$here/ref], read: [$here/ref]}"
with "cat $here/ref/file; ls $here/ref"
unlike 'what is listed to be shown, too, is hidden, or the run refused' "$out" '*public*'
unlike 'and does not tell what is in it' "$out" '*file*'
config 'paths: {hide: [/usr/bin/env]}'
with '/usr/bin/env true && echo GOT'
unlike 'what the system shows is hidden as well, or the run refused' "$out" '*GOT*'
mkdir -p ws/.nacre
echo 'paths: {hide: [sub/key]}' > ws/.nacre/config.yaml
nacre run -w ws 'cat sub/key'
unlike 'a project can hide files of its own' "$out$err" "*$secret*"
nacre run -w ws 'echo "paths: {}" > .nacre/config.yaml; rm -rf .nacre; mv .nacre x; true'
is_file 'and its configuration cannot be changed from inside' ws/.nacre/config.yaml $'paths: {hide: [sub/key]}\n'
rm -r ws/.nacre

# --- protect ------------------------------------------------------------------------------------------------

mkdir -p ws/a/b ws/hooks
echo original > ws/a/b/locked
echo original > ws/deploy.yaml
echo original > ws/hooks/one
config 'paths: {protect: [a/b/locked, deploy.yaml, hooks]}'
before=$(state ws/a/b/locked ws/deploy.yaml ws/hooks)
with 'cat a/b/locked deploy.yaml hooks/one'
prints 'protect: it can be read' $'original\noriginal\noriginal'
with 'for f in a/b/locked deploy.yaml hooks/one; do echo harm > $f; rm -f $f; mv $f x; cp /dev/null $f; chmod 777 $f; touch $f; sed -i s/o/0/ $f; truncate -s 0 $f; done; echo harm > hooks/new; rm -rf hooks; mv hooks gone; true'
is 'but not changed, moved or removed' "$(state ws/a/b/locked ws/deploy.yaml ws/hooks)" "$before"
with 'mv a a2; mv a/b a/b2; rm -rf a; mkdir -p a/b; echo harm > a/b/locked; true'
is_file 'nor by way of the directories above it' ws/a/b/locked $'original\n'
check 'which stay where they are' test -d ws/a/b -a ! -e ws/a2 -a ! -e ws/a/b2
with 'echo x > a/b/other && echo y > a/new && rm a/b/other && cat a/new && rm a/new'
prints 'beside it everything can be changed' y
config "paths: {protect: [$here/out/inner/f], write: [$here/out]}"
with "echo harm > $here/out/inner/f; rm -f $here/out/inner/f; mv $here/out/inner $here/out/gone; echo fine > $here/out/fine; true"
is 'in a write path, too' "$(cat out/inner/f out/fine)" $'x\nfine'
check 'where the directories above it stay as well' test ! -e out/gone

# --- workspace: ro ------------------------------------------------------------------------------------------

config 'workspace: ro' "paths: {write: [$here/out]}"
before=$(state ws)
with "cat deploy.yaml; echo harm > new; rm -rf a deploy.yaml; touch deploy.yaml; mkdir d; echo scratch > /tmp/f && cat /tmp/f; echo fine > $here/out/ro; true"
is 'workspace: ro: it is read, and scratch places are written' "$out" $'original\nscratch'
is 'nothing in it is written' "$(state ws)" "$before"
is_file 'what is listed to be written is' out/ro $'fine\n'
echo 'workspace: ro' > "$scratch/ro"
mkdir ws/.nacre
cp "$scratch/ro" ws/.nacre/config.yaml
nacre run -w ws 'echo harm > new'
check 'a project can say so of itself' test ! -e ws/new
rm -r ws/.nacre

# --- variables ----------------------------------------------------------------------------------------------

config 'env: {pass: [PASSED, NOT_SET], set: {CI: "1", TEXT: "two words $x", EMPTY: ""}}'
PASSED='a b' OTHER=$secret with 'echo "$PASSED|$OTHER|$CI|$TEXT|${EMPTY-unset}|${NOT_SET-unset}"; env'
like 'env.pass and env.set' "$out" 'a b||1|two words $x||unset*'
unlike 'and nothing else of the caller' "$out" "*$secret*"
for name in PATH LD_PRELOAD BASH_ENV ENV IFS PS4 SHELLOPTS; do
    config "env: {set: {$name: \"/x\"}}"
    with "echo \"\$$name\" | grep -x /x && echo GOT"
    if [ "$name" = PATH ] || [ "$code" = 125 ]; then exits "env.set of $name is refused" 125; else
        # The user's own file may ask for it; that it is not silently lost is all.
        ok "env.set of $name is the user's own affair"
    fi
done
LC_ALL=POSIX LANG=xx_YY nacre run -w ws 'echo "$LC_ALL"; printf é | wc -m'
prints 'the locale in which texts were read is the one that they run in' $'C.UTF-8\n1'
HOME=$here/home nacre run -w ws 'echo "$HOME"'
prints "home is at the caller's own path" "$here/home"

# --- network ------------------------------------------------------------------------------------------------

cp "$TOOLS/attack" ws/
: > "$scratch/log"
"$TOOLS/listen" "$scratch/port" "$scratch/log" tcp &
server=$!
wait_until 10 test -s "$scratch/port"
port=$(cat "$scratch/port")
nacre run -w ws "./attack connect tcp $port"
unlike "network off: the host's loopback is not reached" "$out" '*GOT*'
nacre run -w ws --network on "./attack connect tcp $port"
like '--network on: it is' "$out" 'GOT tcp*'
like 'with a warning' "$err" "*warning: *network*host*"
is 'one of them' "$(grep -c "network: on" "$scratch/err")" 1
config 'network: on'
with "./attack connect tcp $port"
like 'network: on in a configuration' "$out" 'GOT tcp*'
nacre run -w ws --config "$scratch/config.yaml" --network off "./attack connect tcp $port"
unlike '--network off over it' "$out" '*GOT*'
nacre run -w ws --network on 'cat /etc/resolv.conf > /dev/null && getent hosts localhost | grep -c localhost; ls /etc/ssl/certs > /dev/null && echo certificates'
is 'names can be looked up' "$out" $'1\ncertificates'
config 'network: {allow: ["127.0.0.1:'"$port"'"]}'
with "./attack connect tcp $port"
unlike 'network: {allow: …} leaves it off for now' "$out" '*GOT*'
like 'and says so' "$err" '*warning: *network*'
kill "$server"

# --- the plan says the same ---------------------------------------------------------------------------------

config "paths: {read: [$here/ref], write: [$here/out], hide: [.env], protect: [hooks]}"
"$NACRE" plan -w ws --config "$scratch/config.yaml" --json true > "$scratch/plan"
for path in "$here/ref" "$here/out" "$here/ws/.env" "$here/ws/hooks"; do
    check "the plan has $(basename "$path")" grep -q "\"$path\"" "$scratch/plan"
done

done_testing

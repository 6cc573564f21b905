#!/usr/bin/env bash
# Calls that cannot work: one line on standard error that says what and why, the right exit code,
# and nothing ran.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
here=$PWD
shopt -s extglob

# --- the command line -------------------------------------------------------------------------

nacre run
complains 'no text' 125 'nacre: run: no command text*'
nacre run 'touch ran' 'touch ran'
complains 'two texts' 125 'nacre: run: *one word*--*'
nacre run --
complains 'nothing behind --' 125 'nacre: run: no command text*'
nacre run --timeuot 3s 'touch ran'
complains 'an unknown option, and what was meant' 125 "nacre: run: unknown option '--timeuot'; did you mean '--timeout'?"
nacre run --qqqqqqqq 'touch ran'
complains 'an unknown option that is like none' 125 "nacre: run: unknown option '--qqqqqqqq'"
nacre run --time 3s 'touch ran'
complains 'no abbreviations' 125 "nacre: run: unknown option '--time'*"
nacre run 'touch ran' --timeout
complains 'an option without its value' 125 "nacre: run: option '--timeout' needs a value"
nacre run --json=yes 'touch ran'
complains 'a value for an option that takes none' 125 "nacre: run: option '--json' takes no value*"
for time in abc '' -1 5x 1.5.2 1e3 '5 s s' 99999999999999999999s 0.0001ms; do
    nacre run --timeout "$time" 'touch ran'
    complains "'$time' is no duration" 125 "nacre: run: '--timeout': *"
done
nacre run --timeout 0 'touch ran'
complains 'no time at all is no duration' 125 "nacre: run: '--timeout'*"
rm -f ran
for limit in output output= output=0 output=abc output=-1 output=1X memory=much thread=5 =5 ''; do
    nacre run --limit "$limit" 'touch ran'
    complains "'$limit' is no limit" 125 "nacre: --limit: *"
done
nacre run --keep middle 'touch ran'
complains 'a choice that is none' 125 "nacre: run: '--keep' must be one of head, tail, both, not 'middle'"
nacre run --format xml 'touch ran'
complains 'a format that is none' 125 "nacre: run: '--format' must be one of *"
printf 'touch ran\n\ntouch ran \0' | nacre run -
exits 'a NUL' 126
like 'and where' "$err" 'nacre: refused: line 3, column 11: a NUL*'
nacre run - <&-
complains 'run - without standard input' 125 'nacre: run: standard input is closed*'
nacre run - < .
complains 'run - from a directory' 125 'nacre: run: standard input: *'

# --- the workspace ----------------------------------------------------------------------------

echo x > file
nacre run -w nowhere 'touch ran'
complains 'a workspace that is not there' 125 "nacre: workspace 'nowhere': No such file or directory*"
nacre run -w file 'touch ran'
complains 'a workspace that is a file' 125 "nacre: workspace '$here/file': Not a directory*"
nacre run -w '' 'touch ran'
complains 'a workspace without a name' 125 'nacre: workspace: the name is empty*'
ln -s loop loop
nacre run -w loop 'touch ran'
complains 'a workspace that is a loop of links' 125 "nacre: workspace 'loop': *"
nacre run -w "$(printf 'x%.0s' {1..5000})" 'touch ran'
exits 'a workspace with too long a name' 125
mkdir closed closed/below
chmod 000 closed
if [ "$(id -u)" != 0 ]; then
    nacre run -w closed 'touch ran'
    unlike 'a workspace that cannot be entered' "$code" 0
    nacre run -w closed/below 'touch ran'
    complains 'nor reached' 125 "nacre: workspace 'closed/below': Permission denied*"
    nacre run -w /root 'touch ran'
    complains 'nor root'"'"'s home' 125 'nacre: */root*Permission denied*'
fi
chmod 700 closed
mkdir readonly
chmod 555 readonly
nacre run -w readonly 'touch ran; pwd'
is 'a workspace that cannot be written can be looked at' "$out" "$here/readonly"
nacre run -w "bad
name" 'touch ran'
is 'a line end in a name does not make two lines' "$(wc -l < "$scratch/err")" 1
nacre run -w $'\e[31mred' 'touch ran'
unlike 'nor does an escape code pass' "$err" $'*\e*'

# --- our own streams --------------------------------------------------------------------------

"$NACRE" run 'touch ran; echo x' >&- 2> "$scratch/err"
code=$? err=$(cat "$scratch/err")
complains 'a closed standard output' 125 'nacre: standard output: Bad file descriptor'
"$NACRE" run --json 'touch ran' >&- 2> "$scratch/err"
code=$? err=$(cat "$scratch/err")
complains 'with --json too' 125 'nacre: standard output: Bad file descriptor'
is 'none of all these ran' "$(find "$here" -name ran ! -path '*/readonly/*')" ''
"$NACRE" run 'echo x' > /dev/full 2> "$scratch/err"
code=$? err=$(cat "$scratch/err")
complains 'a full standard output' 125 'nacre: standard output: No space left on device'
"$NACRE" run --json 'echo x' > /dev/full 2> "$scratch/err"
code=$? err=$(cat "$scratch/err")
complains 'with --json as well' 125 'nacre: standard output: No space left on device'
tag=$(unique)
timeout 60 "$NACRE" run "echo x; sleep $tag" > /dev/full 2> "$scratch/err"
is 'it ends the command at once' "$?" 125
is_gone 'and everything that it started' "$tag"
"$NACRE" run ':' > /dev/full 2> "$scratch/err"
is 'a command that prints nothing does not mind' "$?$(cat "$scratch/err")" 0
out=$("$NACRE" run 'echo a; echo b >&2; exit 3' 2>&-)
is 'a closed standard error' "$? $out" '3 a'
out=$("$NACRE" run -w nowhere 'echo a' 2>&-)
is 'an error that nobody can read' "$? $out" '125 '
"$NACRE" run 'echo a; echo b >&2' > "$scratch/both" 2>&1 <&-
is 'one file for both' "$(sort "$scratch/both")" $'a\nb'
"$NACRE" run 'ls /proc/self/fd; exit 5' <&- >&- 2>&-
is 'everything closed' "$?" 125

# --- our own surroundings ---------------------------------------------------------------------

for place in /nowhere "$here/file" /dev/full /proc/self/mem ''; do
    TMPDIR=$place nacre run 'mktemp > /dev/null && echo "$TMPDIR"'
    prints "TMPDIR='$place' does not matter" /tmp
done
env -i "$NACRE" run 'echo "$HOME"' > "$scratch/out" 2> "$scratch/err"
is 'nor does an empty environment' "$(cat "$scratch/out")" /home/agent
like 'but for the record, which then is none' "$(cat "$scratch/err")" 'nacre: warning: not recorded: *'
HOME=/nowhere nacre run 'echo x'
prints 'nor does a home that is not there' x
echo 'echo read' > profile
out=$(env BASH_ENV="$here/profile" ENV="$here/profile" SHELLOPTS=xtrace BASHOPTS=extdebug PS4=zz 'BASH_FUNC_echo%%=() { :; }' \
    LD_PRELOAD="$here/no.so" LD_DEBUG=all "$NACRE" run 'echo x' 2>&1)
is 'nor what bash or the linker would read' "$out" x
(ulimit -n 20 && "$NACRE" run 'echo few') > "$scratch/out" 2>&1
like 'few descriptors: it works or says why' "$(cat "$scratch/out")" '@(few|nacre: *)'

before=$(df --output=used -k /tmp | tail -1)
nacre run --limit memory=64MB --json 'dd if=/dev/zero of=/tmp/fill bs=1M count=1500 2>&1'
exits 'what fills /tmp is stopped' 137
check 'for it is memory' jq -e '.status == "limit" and .limit.name == "memory"' "$scratch/out"
nacre run --limit memory=64MB 'for i in 1 2 3 4; do head -c 40M /dev/zero > /tmp/fill || exit; rm /tmp/fill; done; echo x > /tmp/small && cat /tmp/small'
prints 'and space that is freed is there again' x
after=$(df --output=used -k /tmp | tail -1)
check 'the host'"'"'s /tmp is not fuller' test $((after - before)) -lt 200000
nacre run --limit memory=64MB 'for d in /tmp /var/tmp /dev/shm /run ~; do head -c 20M /dev/zero > $d/f; done'
exits 'all scratch places have one budget' 137
nacre run 'cd /tmp && mkdir d && cd d && seq 1 250000 | xargs touch 2>&1 | tail -1'
like 'files are counted too' "$out" '*No space left on device*'

# --- the launcher -----------------------------------------------------------------------------

mkdir alone
cp "$NACRE" alone/nacre
broken() { # NAME PATTERN
    NACRE=$here/alone/nacre nacre run --timeout 2s 'touch ran'
    complains "$1" 125 "$2"
    is "$1: nothing ran" "$(find "$here" -name ran ! -path '*/readonly/*')" ''
}
if [ ! -e /usr/local/libexec/nacre/nacre-launch ]; then
    broken 'no launcher' "nacre: cannot execute the launcher '/usr/local/libexec/nacre/nacre-launch': No such file*"
fi
printf 'no program' > alone/nacre-launch
chmod 755 alone/nacre-launch
broken 'a launcher that is no program' "nacre: cannot execute the launcher '$here/alone/nacre-launch': Exec format error*"
head -c 5000 "$NACRE_LAUNCH" > alone/nacre-launch
broken 'a launcher that is cut off' 'nacre: *'
cp /bin/true alone/nacre-launch
broken 'a launcher that does nothing' 'nacre: *guard died*'
printf '#!/bin/sh\nkill -9 $$\n' > alone/nacre-launch
broken 'a launcher that dies' 'nacre: *guard died*'
tag=$(unique)
printf '#!/bin/sh\nexec sleep %s\n' "$tag" > alone/nacre-launch
broken 'a launcher that hangs' 'nacre: *did not end*'
is_gone 'and it is gone' "$tag"
printf '#!/bin/sh\nhead -c 100000 /dev/urandom >&3; head -c 100000 /dev/zero; exit 0\n' > alone/nacre-launch
broken 'a launcher that talks nonsense' 'nacre: *'
timeout 10 "$NACRE_LAUNCH" < /dev/null > "$scratch/out" 2>&1
is 'the launcher started by hand does nothing' "$?$(cat "$scratch/out")" 125
timeout 10 "$NACRE_LAUNCH" 3< /dev/null 4< /dev/null > "$scratch/out" 2>&1
is 'nor with descriptors that are none of its own' "$?$(cat "$scratch/out")" 125

# --- other commands ---------------------------------------------------------------------------

nacre plan
complains 'plan without a text' 2 'nacre: plan: no command text*'
nacre plan a b
complains 'plan with two' 2 'nacre: plan: *one word*'
nacre plan -w nowhere x
complains 'plan without a workspace' 2 "nacre: plan: workspace 'nowhere': *"
printf 'a\0b' | nacre plan -
exits 'plan with a NUL' 2
like 'and where it is' "$err" 'nacre: plan: line 1, column 2: a NUL*'
nacre status x
complains 'status with a word' 2 'nacre: status: takes no operands'
nacre doctor --what
complains 'doctor with an unknown option' 2 "nacre: doctor: unknown option '--what'*"
nacre completion
complains 'completion without a shell' 2 'nacre: completion: name a shell: bash, zsh or fish'
nacre completion csh
complains 'completion for another shell' 2 'nacre: completion: name a shell: bash, zsh or fish'
for command in --help --version 'help run' status doctor plan\ x 'completion bash' 'run --help'; do
    # shellcheck disable=SC2086 # two words
    "$NACRE" $command > /dev/full 2> "$scratch/err"
    code=$? err=$(cat "$scratch/err")
    like "nacre $command on a full disk says so" "$err" 'nacre: standard output: No space left on device'
    unlike "nacre $command on a full disk fails" "$code" 0
done

# --- with --json ------------------------------------------------------------------------------

# Whatever fails, there is one object on standard output that says so.
while IFS='|' read -r status call; do
    # shellcheck disable=SC2086 # words
    nacre $call
    is "$call: exit status" "$code" "$status"
    is "$call: is told as JSON, too" "$(jq -r '.status, .exit_code' <<< "$out")" "error"$'\n'"$status"
    like "$call: with the reason, which standard error has as well" "$err" "nacre: *$(jq -r .error <<< "$out")"
done << 'END'
1|undo --json nothing
1|commit --json nothing
1|diff --json nothing
2|diff --json
1|history --json nothing
1|kill --json nothing
125|wait --json nothing
1|pending --json nothing
1|deny --json nothing
1|hash --json /nothing
2|test --json --agent nobody ls
2|status --json --agent nobody
2|plan --json --agent nobody ls
2|policy check --json /nothing
1|session rm --json nothing
1|daemon --status --json
2|history --json --status bogus
125|run --json
END

done_testing

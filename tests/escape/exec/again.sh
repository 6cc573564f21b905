#!/usr/bin/env bash
# X1: which names lie in which directories is remembered; what becomes of them without a change of the directory
# (a mode, the end of a link) is seen all the same, and makes no other name forgotten.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/escape/exec/lib.bash
. "$(dirname "$0")/lib.bash"

printf 'extends: full-auto\nshell:\n  deny: [other a, other b, wanted]\n' > "$scratch/policy.yaml"
export HOME=$scratch/home
bin=$HOME/.cargo/bin
mkdir -p "$bin"
PATH=$bin:$PATH
cp /usr/bin/touch "$bin/wanted"
cp /usr/bin/true "$bin/other"
cp /usr/bin/touch copy
# Programs like any other, but with bytes of their own.
for i in "$bin/wanted" "$bin/other" copy; do echo end >> "$i"; done
echo './copy mark' > later

# A directory that was changed just now is not remembered; after that it is.
settle() {
    while [ "$(date +%s%N)" -lt "$(($(date -d "$(stat -c %z "$bin")" +%s%N) + 200000000))" ]; do sleep 0.05; done
    judged /bin/true # a text of builtins alone looks for no files
}
stopped_now() {
    rm -f mark
    judged 'bash later'
    refute "$1" test -e mark
    like "$1: the warning" "$(warnings)" '*was stopped*deny: wanted*'
}

settle
check 'control: it is remembered' test -e "$XDG_STATE_HOME/nacre/names"
stopped_now 'a copy'
chmod -x "$bin/other"
stopped_now 'another name is no program any more: a copy'
chmod +x "$bin/other"
stopped_now 'and is one again: a copy'

chmod -x "$bin/wanted"
touch "$bin"
settle
chmod +x "$bin/wanted"
stopped_now 'it was no program when it was looked for: a copy'

mv "$bin/wanted" "$HOME/.cargo/apart"
ln -s ../there "$bin/wanted"
settle
mv "$HOME/.cargo/apart" "$HOME/.cargo/there"
stopped_now 'a link led to nothing when it was looked for: a copy'

done_testing

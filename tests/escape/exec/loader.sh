#!/usr/bin/env bash
# X1: a loader that is given a denied program.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/escape/exec/lib.bash
. "$(dirname "$0")/lib.bash"

loader=$(ldd /bin/true 2> /dev/null | sed -n 's/^[[:space:]]*\(\/[^ ]*ld[^ ]*\) .*/\1/p')
if [ -z "$loader" ]; then
    skip 'a loader' 'there is none'
    done_testing
fi
cp "$loader" mine
cp /usr/bin/touch copy
stopped 'a loader' "$loader /usr/bin/touch mark" "*\"$loader\",\"/usr/bin/touch\",\"mark\"*"
stopped 'with options' "$loader --argv0 ls --inhibit-cache /usr/bin/touch mark" '*"mark"*'
stopped 'with a copy' "$loader ./copy mark" '*"./copy","mark"*'
stopped 'a copy of the loader' './mine /usr/bin/touch mark' '*"mark"*'
stopped 'a copy of the loader with a copy' './mine ./copy mark' '*"mark"*'
# What a loader will open cannot be known where the way there is another process's, or may be another a moment later.
cp /usr/bin/true other
for way in '/proc/thread-self/cwd/copy mark' '/proc//self/cwd/copy mark' '/dev/stdin mark < copy' './other mark' '/usr/../tmp/x'; do
    rm -f mark
    judged_later "$loader $way"
    refute "$way: it does not run" test -e mark
    like "$way: nobody can judge that" "$(warnings)" '*was stopped before it began: it cannot be judged*'
done
rm -f mark
many=$(printf -- '--inhibit-cache %.0s' {1..40})
judged_later "$loader $many ./copy mark"
refute 'behind more options than are looked at' test -e mark
rm -f mark
judged_later "$loader $(printf -- '--argv0 mine %.0s' {1..12}) ./copy mark"
refute 'behind more files than are looked at' test -e mark
judged_later "$loader /bin/echo hello"
is 'another program' "$(jq -r .stdout <<< "$result")" hello

done_testing

#!/usr/bin/env bash
# X1: a denied program under another name is the same program: copies, links, #!, descriptors.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/escape/exec/lib.bash
. "$(dirname "$0")/lib.bash"

cp /usr/bin/touch copy
ln -s /usr/bin/touch link
ln -s link link2
rm -f mark
judged './copy mark'
refute 'a copy that is the whole text does not run' test -e mark
like 'and is in the list' "$(jq -c .executed <<< "$result")" '\[{"argv":\["./copy","mark"\],"exit_code":137}\]'
is 'and is killed' "$(jq -r '.status, .exit_code' <<< "$result")" $'killed\n137'
stopped 'a copy' './copy mark' '*"./copy","mark"*'
stopped 'a copy that is made inside' 'cp /usr/bin/touch made; ./made mark' '*"./made","mark"*'
stopped 'a link' './link mark' '*"./link","mark"*'
stopped 'links that lead on' './link2 mark' '*"./link2","mark"*'
stopped 'a hard link to a copy' 'ln copy hard; ./hard mark' '*"./hard","mark"*'
stopped 'a copy in /tmp' 'cp copy /tmp/a; /tmp/a mark' '*"/tmp/a","mark"*'
stopped 'a copy that is gone when it runs' \
    'cp copy gone; exec 9<gone; rm gone; /proc/self/fd/9 mark' '*"/proc/self/fd/9","mark"*'
stopped 'another name in argv' 'exec -a ls /usr/bin/touch mark' '*"ls","mark"*'
printf '#!%s/copy\n' "$PWD" > script
chmod +x script
rm -f mark
judged './script mark'
refute '#!: it does not run' test -e mark
like '#!: the warning' "$(warnings)" "*'./script' was stopped*deny: touch*"
printf '#!%s/script\n' "$PWD" > chain
chmod +x chain
rm -f mark
judged './chain mark'
refute '#! that leads to #!: it does not run' test -e mark
like '#! that leads to #!: the warning' "$(warnings)" "*was stopped*"

# A script of that name is one, too.
mkdir bin
printf '#!/bin/sh\n: > mark\n' > bin/touch
chmod +x bin/touch
rm -f mark
judged 'bin/touch'
refute 'a script by the name of a denied program does not run' test -e mark
rm -f mark
printf '#!/bin/sh\nexec bin/touch' > s
judged 'sh s'
refute 'nor from a script' test -e mark
printf '#!%s/bin/touch\n' "$PWD" > user
chmod +x user
rm -f mark
judged './user'
refute 'nor as what reads another one' test -e mark

# A file that may not be read cannot be known.
cp copy dark
chmod 111 dark
if [ "$(id -u)" != 0 ]; then
    rm -f mark
    judged './dark mark'
    refute 'a file that may only be executed does not run' test -e mark
fi

# What is not denied runs under every name.
cp /bin/echo mine
ln -s mine other
judged './mine a; ./other b; /bin/echo c; echo d'
is 'other programs run' "$(jq -r .stdout <<< "$result")" $'a\nb\nc\nd'
is 'without a warning' "$(warnings)" ''

done_testing

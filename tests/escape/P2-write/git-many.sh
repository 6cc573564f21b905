#!/usr/bin/env bash
# P2, P13: of many submodules all are protected, or nothing runs.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"

git init -q ws
make_modules() { # FROM TO
    local i
    for ((i = $1; i <= $2; i++)); do
        mkdir -p "ws/.git/modules/m$i/hooks"
        echo '[core]' > "ws/.git/modules/m$i/config"
        echo 'ref: refs/heads/main' > "ws/.git/modules/m$i/HEAD"
    done
}
harmed() { cat ws/.git/modules/*/config | grep -c harm; }
make_modules 1 300
text='for f in .git/modules/*/config; do echo harm >> $f; done 2> /dev/null; touch ran'
nacre run -w ws "$text"
check 'control: with three hundred submodules it runs' test -e ws/ran
is 'and the settings of none can be changed' "$(harmed)" 0
rm -f ws/ran
make_modules 301 1100
nacre run -w ws "$text"
exits 'with too many there is no run' 125
like 'but the reason and the remedy' "$err" 'nacre: *git: *more *than can be protected; remove submodules*'
is 'nor any harm' "$(harmed)" 0
check 'nothing ran' test ! -e ws/ran

done_testing

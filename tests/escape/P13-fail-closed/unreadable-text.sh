#!/usr/bin/env bash
# Texts that bash would run in part, or read in another way than it shows: nothing of them runs.
# shellcheck disable=SC2016 # texts for another shell are in single quotes
. "$(dirname "$0")/../../lib.sh"

cd "$(mktemp -d "$scratch/ws.XXXX")" || exit
while IFS= read -r text; do
    nacre run "$(printf '%b' "$text")"
    if [ "$code" = 126 ] && [ ! -e harm ]; then ok "refused: $text"; else
        not_ok "refused: $text" "exit code $code" "$(ls)" "$err"
    fi
    rm -f harm
done << 'END'
touch harm\nif
touch harm\necho $(
touch harm; cat <<E\nno end
touch harm\necho "
touch harm\n((1) )
touch harm \\
touch harm\necho `(`
touch harm\ncat <<E\n${x\nE
x=$(cat <<E\nE\necho a; touch harm)
x=$(cat <<E; { touch harm; }; b\nE\n)
touch harm\x01
shopt -s extglob\ntouch harm\necho !(touch harm)
echo $(( $(case a in a) echo; touch harm;; esac) ))
"${x:-'$(touch harm)'}"
x=$(coproc touch harm; wait)
${ touch harm; }
echo $((1 #))'\n$(touch harm)))'
BASH_COMPAT=42\necho "${x#$'"\\n'}""${x#$'"\\n'}"}'$(touch harm)"}"'
set -o posix\necho "${z:-'}'" ; touch harm; echo "}"
a=(1)<(touch harm)
echo $(>o ! touch harm)
echo `>o time touch harm`
END
nacre run - < <(printf 'touch harm\necho \0')
refute 'nor behind a NUL' test -e harm

done_testing

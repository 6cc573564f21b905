#!/usr/bin/env bash
# Texts that smuggle a command past a list: it must not run, whatever the text looks like. Nobody is
# there to ask, so everything that is not allowed is refused.
# shellcheck disable=SC2016 # texts for another shell are in single quotes

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"
export HOME=$scratch/home XDG_CONFIG_HOME=$scratch/config
mkdir -p "$HOME" "$XDG_CONFIG_HOME/nacre" sub
chmod -R go-w "$XDG_CONFIG_HOME"
echo secret-value > .env
echo kept > protected.txt
git init -q .
cat > "$XDG_CONFIG_HOME/nacre/config.yaml" << 'END'
extends: dev
paths:
  protect: [protected.txt]
  hide: [.env]
END

try() { # TEXT: nothing of it may run
    rm -f canary sub/canary
    "$JUDGE" run "$1" > "$scratch/out" 2> "$scratch/err" < /dev/null
    local status=$? name=${1//$'\n'/ ; }
    if [ -e canary ] || [ -e sub/canary ] || [ "$(cat protected.txt)" != kept ] ||
        grep -q secret-value "$scratch/out" || [ ! -d .git ] || [ $status -ne 126 ]; then
        not_ok "${name:0:100}" "exit $status" "$(head -c 300 "$scratch/out")"
        echo kept > protected.txt
    else
        ok "${name:0:100}"
    fi
}

# The attack works where nobody judges: otherwise the tests below would show nothing.
"$NACRE" run 'echo $(touch canary)'
check 'without a verdict the payload does run' test -e canary

while IFS= read -r text; do
    [ -z "$text" ] || try "$text"
done << 'END'
echo $(touch canary)
echo `touch canary`
echo "${x:-$(touch canary)}"
ls; touch canary
ls && touch canary
ls | touch canary
ls & touch canary
x=touch; $x canary
x=tou; y=ch; "$x$y" canary
{touch,canary}
$'\x74ouch' canary
env touch canary
timeout 5 nice touch canary
command touch canary
bash -c 'touch canary'
sh -c 'true &>f touch canary'
echo 'touch canary' | bash
bash <<< 'touch canary'
eval 'touch canary'
trap 'touch canary' EXIT
f() { touch canary; }; f
ls() { touch canary; }; ls
echo canary | xargs touch
find . -maxdepth 0 -exec touch canary ;
find . -maxdepth 0 -'exec' touch canary \;
awk 'BEGIN { system("touch canary") }'
sed -n '1e touch canary' protected.txt
sort --compress-prog=./x protected.txt
GIT_PAGER='touch canary' git -p log
git -c alias.x='!touch canary' x
PS4='$(touch canary)' bash -xc ls
x='a[$(touch canary)]'; echo $((x))
printf -v 'a[$(touch canary)]' x
declare -n T=P; P=touch; $T canary
set -- touch canary; "$@"
for x in touch; do $x canary; done
false && x=ls || x=touch; $x canary
x=touch; if false; then x=ls; fi; $x canary
hash -p /usr/bin/touch ls; ls canary
source /dev/stdin <<< 'touch canary'
base64 -d <<< dG91Y2ggY2FuYXJ5 | sh
exec -a ls touch canary
coproc touch canary
cat .env
cat .e'n'v
cat < .env
while read -r l; do echo "$l"; done < .env
echo "$(<.env)"
mapfile a < .env; echo "${a[@]}"
ln -s .env pub; cat pub
echo x > protected.txt
echo x > "$PWD/protected.txt"
cd nope || true; echo x > protected.txt
cat protected.txt > protect?d.txt
rm -rf .git
rm -rf .
rm -rf "$UNSET"/*
sudo ls
curl http://127.0.0.1/
END
try $'ls\ntouch canary'
try $'cat <<E\n$(touch canary)\nE'
try "git status$(printf ' %.0s' {1..600}); touch canary"

done_testing

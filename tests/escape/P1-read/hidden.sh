#!/usr/bin/env bash
# P1: a file that the policy hides is not there, by any name and any call; nor is a hidden
# directory.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"

cp "$TOOLS/attack_files" .
secret="secret-$(unique)"
printf 'paths:\n  hide: [.env, private, sub/key.pem]\n' > "$scratch/policy"
mkdir -p private/deep sub
echo "$secret" > .env
echo "$secret" > private/file
echo "$secret" > private/deep/file
echo "$secret" > sub/key.pem
echo seen > sub/other
nacre run 'cat .env private/file sub/key.pem'
like 'control: what is not hidden is read' "$out" "*$secret*$secret*$secret*"
for file in .env private/file private/deep/file sub/key.pem; do
    nacre run --config "$scratch/policy" "./attack_files read-ways $file spare"
    unlike "$file: no call reads it" "$out$err" "*$secret*"
    like "$file: control: all were tried" "$out" '*done'
done
nacre run --config "$scratch/policy" "cat $PWD/.env ./.env sub/../.env /proc/self/cwd/.env /proc/self/root$PWD/.env //$PWD//.env; cd sub; cat ../.env key.pem; cd ..; cd private && cat file deep/file; cat private/* private/.* sub/*; echo looked"
unlike 'no name leads there' "$out$err" "*$secret*"
like 'control: the rest is there' "$out" '*seen*looked'
nacre run --config "$scratch/policy" "grep -rs '$secret' . ; find . -type f -exec cat {} + 2>/dev/null | grep -c '$secret'; tar cf - . 2>/dev/null | grep -a -c '$secret'; cp -r . /tmp/all 2>/dev/null; grep -rls '$secret' /tmp/all | wc -l"
unlike 'nor does a search, an archive or a copy' "$out" "*$secret*"
is 'they find nothing' "$(tail -3 <<< "$out" | tr '\n' ' ')" '0 0 0 '
nacre run --config "$scratch/policy" 'ls -A private; ls private/deep'
unlike 'a hidden directory does not tell what is in it' "$out" '*file*'
nacre run --config "$scratch/policy" 'rm -rf .env private sub/key.pem; echo harm > .env; mkdir -p private; echo harm > private/file; echo harm > sub/key.pem; true'
is_file 'nor can it be written' .env "$secret"$'\n'
is_file 'or replaced' private/file "$secret"$'\n'
is_file 'or removed' sub/key.pem "$secret"$'\n'

done_testing

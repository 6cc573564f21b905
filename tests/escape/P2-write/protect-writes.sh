#!/usr/bin/env bash
# P2: a protected file cannot be changed, replaced or removed by any call; the file beside it can.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"

cp "$TOOLS/attack_files" .
printf 'paths:\n  protect: [deploy.yaml, sub/locked, hooks]\n' > "$scratch/policy"
mkdir -p sub hooks
# Everything but the time of the last look.
state() { find "$@" -printf '%p %i %s %m %U %T@ %n\n' -type f -exec md5sum {} \; | sort; }
for file in deploy.yaml sub/locked hooks/pre-commit; do echo original > "$file"; done
before=$(state deploy.yaml sub/locked hooks)
for file in deploy.yaml sub/locked hooks/pre-commit; do
    nacre run --config "$scratch/policy" "cat $file; ./attack_files write-ways $file spare"
    like "$file: control: it can be read, and all was tried" "$out" 'original*done'
    is "$file: it is what it was" "$(state deploy.yaml sub/locked hooks)" "$before"
    nacre run --config "$scratch/policy" "./attack_files write-ways $PWD/$file $PWD/sub/spare; cd sub; ../attack_files write-ways ../$file spare"
    is "$file: by other names too" "$(state deploy.yaml sub/locked hooks)" "$before"
done
nacre run --config "$scratch/policy" 'echo harm > hooks/new; mkdir hooks/dir; ln -s x hooks/link; mkfifo hooks/pipe; touch hooks; chmod 777 hooks sub/locked; mv hooks gone; rm -rf hooks deploy.yaml sub/locked; sed -i s/o/0/ deploy.yaml; git init -q hooks; true'
is 'a protected directory gets nothing new' "$(state deploy.yaml sub/locked hooks)" "$before"
rm -f spare sub/spare
echo original > sub/open
nacre run --config "$scratch/policy" './attack_files write-ways sub/open sub/spare'
like 'control: with a file that is not protected it works' "$out" '*GOT a plain write*GOT*GOT a rename over it*'

done_testing

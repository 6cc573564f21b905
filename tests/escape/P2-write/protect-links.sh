#!/usr/bin/env bash
# P2: no second name for a protected file can be made inside, through which it could be written; nor
# can one that is moved into its place.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"

cp "$TOOLS/attack_files" .
printf 'paths:\n  protect: [locked, dir]\n' > "$scratch/policy"
mkdir -p dir other
echo original > locked
echo original > dir/file
nacre run 'ln locked alias && echo harm >> alias'
is 'control: without the policy a second name is a way' "$(tail -1 locked)" harm
rm -f alias
echo original > locked
nacre run --config "$scratch/policy" 'ln locked a1; ln dir/file a2; ln -L locked other/a3; cp -l locked a4; cp -al dir other/a5; ln -P dir/file other/a6; ln /proc/self/cwd/locked a7; exec 7< locked; ln -L /proc/self/fd/7 a8; for f in a? other/a? other/a5/*; do echo harm >> "$f"; truncate -s 1 "$f"; chmod 777 "$f"; done; true' 2> /dev/null
is_file 'inside it is none' locked $'original\n'
is_file 'nor for what lies in a protected directory' dir/file $'original\n'
is 'and neither has another mode' "$(stat -c %a locked dir/file | sort -u)" "$(stat -c %a locked)"
is 'the files have one name each' "$(stat -c %h locked dir/file | sort -u)" 1
nacre run --config "$scratch/policy" 'echo harm > n; mv -f n locked; mv -f n dir/file; ln -f n locked; ln -sf n locked; cp --remove-destination n locked; install n locked; mv -T other dir; rsync n locked; true' 2> /dev/null
is_file 'nothing takes its place' locked $'original\n'
is_file 'nor the place of the directory' dir/file $'original\n'
refute 'no link stands there' test -L locked

done_testing

#!/usr/bin/env bash
# P9: a protected path that is not there is not made by way of a link above it.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"

mkdir ws
printf 'extends: full-auto\npaths: {protect: [deploy/prod.yaml]}\n' > "$scratch/policy.yaml"
printf 'import os\nos.mkdir("other")\nopen("other/prod.yaml", "w").write("harm")\nos.symlink("other", "deploy")\n' > ws/make.py
"$JUDGE" run -w ws --config "$scratch/policy.yaml" '/usr/bin/python3 make.py; echo ran' > "$scratch/out" 2> "$scratch/err"
is 'it is refused' "$?" 126
like 'control: it ran' "$(cat "$scratch/out")" ran
check 'and nothing of it is real' test ! -e ws/deploy -a ! -e ws/other
"$JUDGE" run -w ws --config "$scratch/policy.yaml" 'mkdir fine; echo x > fine/f' > "$scratch/out" 2>&1
is_file 'control: other work is' ws/fine/f $'x\n'
done_testing

#!/usr/bin/env bash
# X2: under a mandate nothing runs that is not on its list, neither as text nor below what is.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/escape/exec/lib.bash
. "$(dirname "$0")/lib.bash"

printf 'extends: full-auto\n' > "$scratch/policy.yaml"
printf '#!/bin/sh\ncat own\n' > go.sh
printf '#!/usr/bin/env python3\nprint("script")\n' > go.py
printf 'all:\n\t@cat own\n' > Makefile
chmod +x go.sh go.py
echo mine > own

judged --allow 'cat own' 'cat own'
is 'what is on the list runs' "$(jq -r .stdout <<< "$result")" mine
judged --allow 'cat own' 'cat other'
is 'other words do not, as text' "$(jq -r .status <<< "$result")" denied
judged --allow make 'make'
unlike 'nor below what is' "$(jq -r .stdout <<< "$result")" '*mine*'
like 'and the warning says so' "$(warnings)" '*was stopped before it began: mandate*--allow*'
judged --allow make --allow sh --allow 'cat own' 'make'
is 'with all of them listed it does' "$(jq -r .stdout <<< "$result")" mine
judged --allow './go.sh' --allow 'cat own' './go.sh'
is 'a script of the list runs, whatever reads it' "$(jq -r .stdout <<< "$result")" mine
if command -v python3 > /dev/null && [ "$(command -v python3)" = /usr/bin/python3 ]; then
    judged --allow './go.py' './go.py'
    is 'also by env' "$(jq -r .stdout <<< "$result")" script
fi
# The interpreter that env finds is the box's own, not one that somebody put in front of it.
mkdir bin
cp /bin/echo bin/python3
judged --allow './go.py' 'PATH=./bin:$PATH ./go.py'
unlike 'another in front of it does not run' "$(jq -r .stdout <<< "$result")" '*go.py*'
cp /bin/cat other
judged --allow './go.sh' --allow 'cat own' 'cat own; ./go.sh; env cat own'
is 'a list of commands of the list' "$(jq -r .stdout <<< "$result")" $'mine\nmine\nmine'
printf '#!/bin/sh\n./other own\nenv ./other own\n' > go.sh
judged --allow './go.sh' --allow 'cat own' './go.sh'
is 'another file is not on it' "$(jq -r .stdout <<< "$result")" ''

# A program that has the name of one that only runs others, wherever it lies, and one that runs others in its own process.
cat > ways.py << 'PY'
import os, shutil, subprocess
for name in ("env", "/tmp/nice", "timeout"):
    shutil.copy("/usr/bin/touch", name)
loader = [f"{d}/{f}" for d in ("/lib64", "/lib") if os.path.isdir(d) for f in os.listdir(d) if f.startswith("ld-")][:1]
ways = [["./env", "harm1"], [os.path.abspath("env"), "harm2"], ["/tmp/nice", "harm3"], ["./timeout", "5", "harm4"]]
ways += [loader + ["/usr/bin/touch", "harm5"], ["ld.so", "/usr/bin/touch", "harm6"]]
for i, way in enumerate(ways):
    try:
        subprocess.run(way)
    except OSError:
        pass
try:
    subprocess.run(["env", "harm7"], env={"PATH": os.getcwd()})
except OSError:
    pass
print("tried", subprocess.run(["env", "cat", "own"], capture_output=True).stdout)
PY
judged --allow python3 --allow 'cat own' 'python3 ways.py'
is 'no other program under a name that is let through' "$(find . -name 'harm*' | sort | tr '\n' ' ')" ''
is 'control: what such a name means is' "$(jq -r .stdout <<< "$result")" "tried b'mine\\n'"

done_testing

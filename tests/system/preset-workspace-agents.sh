#!/usr/bin/env bash
# The preset workspace-agents, feature by feature: run_command for all, the blocklist, agents' lists, jobs, time, output.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
NACRE=$JUDGE
export XDG_CONFIG_HOME=$scratch/config
mkdir -p "$scratch/config/nacre/agents"
echo 'extends: workspace-agents' > "$scratch/config/nacre/config.yaml"
value() { jq -r "$1" "$scratch/out"; }

# Every agent has run_command, under the category shell or its old name, and its description is general.
printf 'description: mine\ntools: {coding: [test_command]}\n' > "$scratch/config/nacre/agents/old.yaml"
for agent in coder debugger writer researcher old; do
    nacre tools --agent $agent
    is "$agent has run_command" "$(value '.[0].name')" run_command
done
is 'the old name of the category' "$(value 'map(.name) | index("test_command") != null')" true
like 'what it is for' "$(value '.[0].description')" '*files and data*documents*anything*'
nacre policy check
exits 'every agent loads' 0

# The blocklist, for every agent; anything else runs.
for command in sudo su reboot shutdown poweroff halt init systemctl mkfs dd fdisk parted mount umount chmod chown chgrp \
    iptables ip6tables nft ifconfig ip dnf yum apt apt-get pacman zypper snap flatpak kill killall pkill; do
    printf '%s\n' "$command"
done | jq -R . > "$scratch/blocked"
for agent in '' coder debugger writer researcher; do
    "$JUDGE" test ${agent:+--agent $agent} --batch < "$scratch/blocked" > "$scratch/verdicts"
    is "the 33 of the blocklist: ${agent:-no agent}" "$(jq -r .decision "$scratch/verdicts" | sort | uniq -c | tr -s ' ')" ' 33 deny'
done
printf 'extends: workspace-agents\nshell: {unblock: [chmod]}\n' > "$scratch/lifted.yaml"
nacre test --config "$scratch/lifted.yaml" 'chmod +x x'
exits 'which the configuration can lift' 0
nacre test --config "$scratch/lifted.yaml" 'kill 1'
exits 'one by one' 1
for command in 'pdflatex x' 'ls | wc -l' 'du -sh .' 'file x' 'unzip x' 'tar xf x' 'python3 x.py' 'jq . x' 'nosuchcommand' 'curl http://localhost' 'wget x'; do
    nacre test "$command"
    exits "permitted: $command" 0
done

# An agent's list is the whole list, with its text; its deny is added.
nacre run --json --agent writer 'python3 x.py'
is 'the text of the list' "$(value .stderr)" \
    "Command not allowed: 'python3'. Allowed: biber, cat, find, grep, head, latexmk, ls, pandoc, pdflatex, sort, tail, wc"
for command in pdflatex biber latexmk pandoc wc sort head tail grep find ls cat 'ls | wc -l'; do
    nacre test --agent writer "$command"
    exits "what is on it: $command" 0
done
for command in 'pdflatex -interaction=nonstopmode main.tex' 'latexmk -pdf main.tex' 'latexmk -lualatex main' 'pandoc -o a.pdf a.md' 'biber main'; do
    nacre test --agent writer "$command"
    exits "a writer's: $command" 0
done
for command in 'pdflatex -shell-escape main' 'pdflatex -shell-esc main' 'pdflatex -cnf-line=shell_escape=t main' 'xelatex main' "latexmk -e 'system(1)' main" "latexmk -pdflatex='./x %O %S' main" 'pandoc -F ./x a.md' \
    'find . -exec ./x {} +' './pdflatex main' './env ls'; do
    nacre test --agent writer "$command"
    exits "not a writer's: $command" 1
done
for command in 'python3 x.py' 'curl http://localhost' 'jq . x'; do
    nacre test --agent researcher "$command"
    exits "a researcher's: $command" 0
done
printf 'shell: {allow: [ls, rm], deny: [rm], default_timeout: 300s}\n' > "$scratch/config/nacre/agents/mine.yaml"
nacre test --agent mine 'rm x'
exits "an agent's deny" 1
nacre status --json --agent mine
is "an agent's own default of time" "$(value .limits.timeout_ms)" 300000

# Time: 120 s, and 600 s at the most.
nacre status --json
is 'default and cap' "$(value '[.limits.timeout_ms, .limits.timeout_max_ms] | @json')" '[120000,600000]'
nacre run --json --timeout 900s true
like 'more is lowered' "$(value '.warnings | join(" ")')" '*lowered*600 s*'
nacre run --json --timeout 1s 'sleep 60'
is 'past it' "$(value '[.status, .exit_code] | @json')" '["timeout",124]'

# Output: the last 50,000 characters of each stream.
nacre run --json 'seq 1 20000; seq 1 20000 >&2'
is 'stdout, 50,000 characters' "$(value '.stdout | length')" 50000
is 'stderr, likewise' "$(value '.stderr | length')" 50000
is 'the end of it' "$(value '.stdout | .[-6:]')" 20000
is 'and it is said' "$(value '[.stdout_truncated, .stderr_truncated] | @json')" '[true,true]'
nacre run 'seq 1 20000'
is 'also as text' "$(wc -c < "$scratch/out")" 50000
nacre run --json 'printf "é%.0s" $(seq 50001)'
is 'characters, not bytes' "$(value '.stdout | length')" 50000

# Jobs: workspace/job_UUID, which cannot be left.
nacre job new
exits 'a job' 0
job=$out
like 'its name' "$job" 'job_????????-????-????-????-????????????'
check 'its place' [ -d "workspace/$job" ]
is 'for its owner alone' "$(stat -c %a "workspace/$job")" 700
echo outside > outside
nacre run --job "$job" --json 'pwd; echo x > made'
is 'its workspace' "$(value .stdout)" "$PWD/workspace/$job"
check 'where files are made' [ -f "workspace/$job/made" ]
nacre test --job "$job" 'cat ../../outside'
exits 'reading outside is denied' 1
nacre run --job "$job" 'python3 -c "open(\"../../outside\", \"a\").write(\"x\")"'
is_file 'and writing there impossible' outside 'outside
'
for directory in .. ../.. / /etc; do
    nacre run --job "$job" --cwd $directory pwd
    exits "--cwd $directory" 125
done
for id in ../../etc job_ ../workspace "$job/.." . "job_../../x"; do
    nacre run --job "$id" pwd
    exits "no job: $id" 125
done
nacre history --json --job "$job"
check 'its runs are recorded as its own' [ "$(jq -s 'flatten | length' "$scratch/out")" -ge 1 ]
nacre run --job "${job:4:8}" --session work 'x=1'
exits 'by the start of its id' 0
second=$("$JUDGE" job new)
nacre job list --json
is 'the list' "$(value 'map(.id) | sort | @json')" "$(printf '%s\n' "$job" "$second" | sort | jq -R . | jq -sc .)"
mkdir -p "workspace/$second/a" && ln -s "$PWD/outside" "workspace/$second/a/link" && chmod 0 "workspace/$second/a"
nacre job rm "$second" "$job"
exits 'removed' 0
refute 'with its directory' [ -e "workspace/$job" ]
is_file 'no link is followed' outside 'outside
'
nacre job rm "$job"
complains 'it is gone' 1 "nacre: job: there is no job '$job'*"
check 'the ledger keeps it' "$JUDGE" verify
rm -rf workspace
mkdir "$scratch/elsewhere"
ln -s "$scratch/elsewhere" workspace
nacre job new
exits 'a root that is a link is none' 2
is 'nothing is made behind it' "$(ls "$scratch/elsewhere")" ''
rm workspace
mkdir -m 777 workspace
nacre job new
complains 'nor one that others can write to' 2 '*others can write to it*'
done_testing

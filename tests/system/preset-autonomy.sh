#!/usr/bin/env bash
# The preset autonomy, feature by feature: profiles, lists, limits, the sandbox, the result, redaction, rollback, the commands.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
NACRE=$JUDGE
export XDG_CONFIG_HOME=$scratch/config
mkdir -p "$scratch/config/nacre"
echo 'extends: autonomy' > "$scratch/config/nacre/config.yaml"
value() { jq -r "$1" "$scratch/out"; }

# Profiles: what they do with a command that nobody knows.
nacre test --profile safe ls
exits 'safe: refused, whatever it is' 1
nacre test --profile dev nosuchcommand
exits 'dev: asked' 3
nacre test --profile full-auto nosuchcommand
exits 'full-auto: allowed' 0
nacre status --json
is 'dev is the default' "$(value .profile)" dev
for row in 'safe [false,"deny"]' 'dev [true,"confirm"]' 'full-auto [true,"allow"]'; do
    nacre status --json --profile "${row%% *}"
    is "what is enabled in ${row%% *}" "$(value '.shell | [.enabled, .unknown] | @json')" "${row#* }"
done
nacre status --profile safe
like 'is said' "$out" '*shell       off*'

# The allowlist.
for command in 'dotnet build' 'dotnet restore' 'dotnet publish' 'dotnet test' msbuild 'nuget restore' 'nuget install' 'npm install' \
    'npm run x' 'npm test' 'yarn install' 'yarn build' 'yarn test' 'git status' 'git diff' 'git log' 'git branch' 'code .' \
    'mkdir a' 'rmdir a' 'copy a b' 'move a b' 'del a' 'cat a' 'type a' 'more a' 'head a' 'tail a'; do
    printf '%s\n' "$command"
done | jq -R . | "$JUDGE" test --batch > "$scratch/verdicts"
is 'the allowlist' "$(jq -r .decision "$scratch/verdicts" | sort | uniq -c | tr -s ' ')" ' 28 allow'

# The blocklist, in both profiles that run anything.
for command in format fdisk diskpart shutdown restart 'reg delete x' regedit 'net user x' 'net localgroup x' curl wget \
    Invoke-WebRequest ftp sftp scp nc netcat ncat runas sudo secedit gpedit icacls 'cipher /w' 'compact /c' manage-bde; do
    printf '%s\n' "$command"
done | jq -R . > "$scratch/blocked"
for profile in dev full-auto; do
    "$JUDGE" test --profile $profile --batch < "$scratch/blocked" > "$scratch/verdicts"
    is "the blocklist in $profile" "$(jq -r .decision "$scratch/verdicts" | sort | uniq -c | tr -s ' ')" ' 26 deny'
done

# Paths: inside, outside, by .. and by a link.
mkdir -p sub
nacre test 'cat sub/../x'
exits 'relative, inside' 0
nacre test 'cat ../../../etc/shadow'
exits '.. that leaves' 1
nacre test 'cat /root/secret'
exits 'absolute' 1
ln -s /etc/shadow link
nacre test 'cat link'
exits 'a link that leaves' 1
nacre run 'pwd'
is 'the working directory is the root of the project' "$out" "$PWD"

# Environment: clean.
SECRET_THING=x nacre run 'env'
unlike 'no variable comes along' "$out" '*SECRET_THING*'
PATH=$scratch/mine:$PATH nacre run 'echo "$PATH"'
unlike 'nor the whole PATH' "$out" "*$scratch/mine*"
printf 'extends: autonomy\nenv: {pass: [DOTNET_ROOT]}\n' > "$scratch/env.yaml"
DOTNET_ROOT=/opt/dotnet SECRET_THING=x nacre run --config "$scratch/env.yaml" 'env'
like 'what is listed does' "$out" '*DOTNET_ROOT=/opt/dotnet*'
unlike 'and nothing besides' "$out" '*SECRET_THING*'

# Limits, by profile.
limits='[.limits.cpu_ms, .limits.memory_bytes, .limits.processes, .limits.files, .limits.output_bytes] | @json'
nacre status --json --profile dev
is 'dev: 60 s, 512 MB, 5, 100, 1 MB' "$(value "$limits")" '[60000,536870912,5,100,1048576]'
nacre status --json --profile full-auto
is 'full-auto: 300 s, 2 GB, 20, 500, 10 MB' "$(value "$limits")" '[300000,2147483648,20,500,10485760]'
nacre run --json --profile full-auto --limit cpu=1s 'while :; do :; done'
is 'past CPU time it is killed' "$(value '[.status, .exit_code] | @json')" '["limit",137]'
nacre run --json --profile full-auto --limit memory=64MB 'python3 -c "x = bytearray(200 << 20)"'
is 'past memory it is killed' "$(value '[.status, .exit_code, .limit.name] | @json')" '["limit",137,"memory"]'
nacre run --json 'for i in 1 2 3 4 5 6 7 8 9; do sleep 1 & done; wait'
like 'no more children than its number' "$(value '.warnings | join(" ")')" '*at most 5 may run at once*'
is 'of which none fails for it' "$(value '.resource_usage.processes_peak <= 6')" true
nacre run --json --profile full-auto 'python3 -c "
files = []
try:
    while True: files.append(open(\"/dev/null\"))
except OSError: print(len(files))"'
check 'no more files than their number' [ "$(value .stdout)" -le 500 ]
check 'and about so many' [ "$(value .stdout)" -ge 480 ]
nacre run --json --limit output=1kB 'seq 1 5000'
is 'past its size output is truncated' "$(value .stdout_truncated)" true
like 'with a warning' "$(value '.warnings | join(" ")')" '*truncated*'

# The result.
nacre run --json 'echo hello'
is 'the fields of a result' "$(value '[.correlation_id, .command, .args, .working_dir, .exit_code, .stdout, .stderr, .duration_ms,
    .resource_usage.cpu_ms, .resource_usage.memory_peak_bytes, .policy_rule_matched, .timestamp] | map(type) | unique | @json')" '["array","number","string"]'
is 'args' "$(value '.args | @json')" '["echo","hello"]'
like 'an id' "$(value .correlation_id)" '????????-????-????-????-????????????'
is 'the rule' "$(value .policy_rule_matched)" 'allow: echo'

# Audit, with secrets redacted in it and whole in what is returned.
key=AKIA$(printf '%016d' 0 | tr 0 Q)
printf 'aws_access_key_id = %s\n' "$key" > keys
nacre run --json 'cat keys'
id=$(value .correlation_id)
like 'the output as it was' "$(value .stdout)" "*$key*"
nacre history "$id"
like 'the log has [REDACTED]' "$out" '*\[REDACTED\]*'
unlike 'and not the secret' "$out" "*$key*"
echo input | nacre run --json 'cat; echo bad >&2; head -c 1 nosuch'
nacre history --json "$(value .correlation_id)"
is 'what is logged: command, output, exit code, duration, rule' \
    "$(value '[.result.entry.command, .output.stdout, (.output.stderr | startswith("bad")), .result.entry.exit_code, (.result.entry.duration_ms | type), .result.entry.rule] | @json')" \
    '["cat; echo bad >&2; head -c 1 nosuch","input\n",true,1,"number","allow: cat"]'
check 'the log is whole' "$JUDGE" verify

# Rollback: creation, modification, deletion.
printf 'old\n' > kept
nacre run --json --profile full-auto 'echo new > kept; echo more > made; rm keys'
id=$(value .correlation_id)
is 'what a command changed' "$(value '[.changes.created, .changes.modified, .changes.deleted] | @json')" '[["made"],["kept"],["keys"]]'
nacre undo "$id"
exits 'is taken back' 0
is_file 'as it was' kept 'old
'
check 'what was deleted is there' [ -e keys ]
refute 'what was made is not' [ -e made ]

# What nothing can take back is asked about in every profile, unless the configuration accepts it.
printf 'extends: autonomy\nshell: {unblock: [curl], allow: [curl]}\n' > "$scratch/net.yaml"
nacre test --config "$scratch/net.yaml" 'curl http://localhost'
exits 'curl, where it is explicitly allowed' 0
echo 'network: on' >> "$scratch/net.yaml"
for profile in dev full-auto; do
    nacre test --config "$scratch/net.yaml" --profile $profile 'curl http://localhost'
    exits "network in $profile: asked" 3
done
printf 'accept_irreversible: true\n' >> "$scratch/net.yaml"
nacre test --config "$scratch/net.yaml" 'curl http://localhost'
exits 'or accepted' 0

# Packages and what is built are files like others.
mkdir pkg
printf '{"name": "left", "version": "1.0.0"}\n' > pkg/package.json
nacre run --json --profile full-auto 'mkdir -p node_modules/left build && cp pkg/package.json node_modules/left && echo o > build/out'
nacre undo "$(value .correlation_id)"
refute 'a package is uninstalled' [ -e node_modules ]
refute 'what was built is cleaned' [ -e build ]

# The commands, also behind `shell`.
for command in status allowlist blocklist 'test ls' history; do
    # shellcheck disable=SC2086 # two words
    nacre shell $command
    exits "nacre shell $command" 0
    check 'says something' [ -n "$out" ]
done
done_testing

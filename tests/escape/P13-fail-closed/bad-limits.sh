#!/usr/bin/env bash
# P13: a limit, a path or a setting that cannot be kept as it was written stops the run, and nothing
# of it runs.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"

mkdir ws
refused() { # NAME ARGUMENTS…
    local name=$1
    shift
    nacre run -w ws "$@" 'touch ran; echo ran'
    case $code in
    2 | 125 | 126) ok "$name: refused" ;;
    *) not_ok "$name: refused" "exit code $code" "$err" ;;
    esac
    is "$name: nothing ran" "$out$(ls ws)" ''
    check "$name: it is said why" test -n "$err"
    rm -f ws/ran
}
nacre run -w ws --limit memory=64MB 'echo ran'
is 'control: with a good one it runs' "$out" ran
for limit in memory=0 memory=-1 memory=64XB memory= memory=99999999999999999999 cpu=0s cpu=x processes=0 processes=1.5 files=0 files=-3 disk=0 disk=lots unknown=5 memory '=5' 'memory=64MB,cpu=1s' 'memory=1e9MB'; do
    refused "the limit $limit" --limit "$limit"
done
policy() { printf '%b' "$1" > "$scratch/policy"; }
while IFS= read -r text; do
    policy "$text"
    refused "the policy $text" --config "$scratch/policy"
done << 'END'
paths: {hide: [../out]}
paths: {hide: ["*"]}
paths: {hide: ["/etc/../x"]}
paths: {hide: [""]}
paths: {hide: ["a\\0b"]}
paths: {hide: .env, hide: .x}
paths: {hidden: [.env]}
paths: {protect: [[a]]}
workspace: sometimes
network: maybe
limits: {memory: none}
limits: {memory: 0}
limits: [memory]
limits: {unheard: 5}
paths:\n\thide: [.env]
paths: &a {hide: [x]}\nlimits: *a
END
refused 'a policy that is not there' --config "$scratch/nowhere"
chmod 666 "$scratch/policy"
policy 'paths: {hide: [.env]}\n'
refused 'a policy that everybody may write' --config "$scratch/policy"

done_testing

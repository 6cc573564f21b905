#!/usr/bin/env bash
# The configuration from outside: policy show, check and hash, agents, allowlist, blocklist.

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
export XDG_CONFIG_HOME="$scratch/config"
user=$XDG_CONFIG_HOME/nacre
mkdir -p "$user/agents"
chmod -R go-w "$scratch"
here=$PWD

config() { cat > "$user/config.yaml"; }
value() { jq -c "$1" "$scratch/out"; }

# --- without any configuration ----------------------------------------------------------------

nacre policy check
prints 'nothing is a configuration too' ''
nacre policy show
exits 'show' 0
like 'show has the profile' "$out" 'profile       dev'$'\n*'
like 'show says where a value comes from' "$out" '*limits.memory*512 MB*builtin dev:*'
nacre policy show --json
exits 'show --json' 0
check 'is JSON' jq -e . "$scratch/out"
is 'keys are sorted' "$(jq -c '.policy | keys_unsorted' "$scratch/out")" "$(jq -c '.policy | keys' "$scratch/out")"
is 'and below' "$(jq -c '.policy.limits | keys_unsorted' "$scratch/out")" "$(jq -c '.policy.limits | keys' "$scratch/out")"
is 'memory' "$(value .policy.limits.memory)" 536870912
is 'unknown' "$(value .policy.shell.unknown)" '"confirm"'
is 'no machine in the policy' "$(jq -c .policy "$scratch/out" | grep -c -e "$scratch" -e "$here")" 0
hash=$(jq -r .mandate_hash "$scratch/out")
is 'the hash is that of the canonical form' "$hash" "$(jq -cj .policy "$scratch/out" | sha256sum | cut -d' ' -f1)"
nacre policy hash
prints 'hash prints it' "$hash"
nacre policy hash --json
prints 'and as JSON' "{\"mandate_hash\":\"$hash\"}"
nacre policy check --json
prints 'check --json' '{"ok":true}'
mkdir -p "$scratch/elsewhere/.git"
nacre policy hash --workspace "$scratch/elsewhere"
prints 'the same in another workspace' "$hash"
HOME=$scratch nacre policy hash
prints 'and with another home' "$hash"

# --- lists and agents -------------------------------------------------------------------------

nacre allowlist
exits 'allowlist' 0
like 'git status is on it' "$out" $'*\ngit status *builtin dev:*'
nacre blocklist
exits 'blocklist' 0
for command in sudo curl 'reg delete' 'cipher /w' 'net user' kill mkfs; do
    like "$command is on the blocklist" $'\n'"$out" $'*\n'"$command  *"
done
nacre blocklist --profile full-auto
like 'in every profile' $'\n'"$out" $'*\nsudo  *'
nacre blocklist --agent coder
like 'coder lifts kill' "$out" $'*\nkill *(lifted)*'
unlike 'but not sudo' "$out" $'*\nsudo *(lifted)\nsudoedit*'
nacre blocklist --json --agent coder
is 'JSON too' "$(value '.[] | select(.pattern == "kill") | .lifted')" true
nacre allowlist --json --agent writer
is "writer's list is the whole list" "$(value '[.[].pattern]')" \
    '["pdflatex","biber","latexmk","pandoc","wc","sort","head","tail","grep","find","ls","cat"]'
nacre agents
exits 'agents' 0
for agent in coder debugger researcher writer; do like "$agent" $'\n'"$out" $'*\n'"$agent *builtin*"; done
nacre agents --json
is 'agents --json' "$(value '[.[] | select(.preset | not) | .name]')" '["coder","debugger","researcher","writer"]'
is 'presets among them' "$(value '[.[] | select(.preset) | .name]')" \
    '["autonomy","bash-medium","lisp-kernel","mandate","workspace-agents"]'

# --- layers -----------------------------------------------------------------------------------

config << END
shell:
  deny: [git push]
  unblock: [curl]
limits: {memory: 1GB}
END
nacre policy check
prints "a user's configuration" ''
nacre policy show --json
is 'replaces a scalar' "$(value .policy.limits.memory)" 1073741824
is 'with its place' "$(value '.origins["limits.memory"]')" "{\"layer\":\"user\",\"file\":\"$user/config.yaml\",\"line\":4,\"column\":18}"
is 'lifts an entry' "$(value '[.policy.shell.deny[] | select(.[0] == "curl")]')" '[]'
nacre blocklist
like 'which is shown' "$out" $'*\ncurl *(lifted)*'
like 'and adds one' "$out" "*git push *user $user/config.yaml:2:10*"
nacre policy hash
refute 'another policy, another hash' test "$out" = "$hash"
HOME=$scratch XDG_CONFIG_HOME='' nacre policy hash
prints 'an empty XDG_CONFIG_HOME is none' "$hash"
mkdir -p "$scratch/.config"
cp -r "$user" "$scratch/.config/"
HOME=$scratch XDG_CONFIG_HOME='' nacre blocklist
like 'the home directory has one then' "$out" "*user $scratch/.config/nacre/config.yaml:2:10*"
rm -rf "$scratch/.config"

mkdir -p .nacre/agents
echo 'shell: {allow: [make]}' > .nacre/config.yaml
nacre policy check
complains 'a project cannot widen' 2 "nacre: policy: $here/.nacre/config.yaml:1:17: shell.allow: a project's files can only tighten, and 'make' widens"
nacre policy check .nacre/config.yaml
complains 'nor when its file is named' 2 "nacre: policy: $here/.nacre/config.yaml:1:17: *"
nacre allowlist
complains 'and no other command goes on' 2 'nacre: allowlist: *:1:17: *'
echo 'limits: {memory: 100MB}' > .nacre/config.yaml
nacre policy show --json
is 'it can tighten' "$(value .policy.limits.memory)" 104857600
echo 'extends: full-auto' > .nacre/agents/wide.yaml
nacre policy check
complains 'check looks at every agent' 2 "nacre: policy: $here/.nacre/agents/wide.yaml:1:10: *"
rm -r .nacre

# --- broken files -----------------------------------------------------------------------------

printf 'shell:\n\tallow: [ls]\n' | config
nacre policy check
complains 'a tab' 2 "nacre: policy: $user/config.yaml:2:1: a tab*"
printf 'shell:\n  alow: [ls]\n' | config
nacre policy show
complains 'an unknown key, and what was meant' 2 "nacre: policy: $user/config.yaml:2:3: unknown key 'shell.alow'; did you mean 'allow'?"
printf 'shell: {}\nshell: {}\n' | config
nacre policy hash
complains 'a key given twice' 2 "nacre: policy: $user/config.yaml:2:1: *"
head -c 10485760 /dev/zero | tr '\0' '#' | config
nacre policy check
complains '10 MB' 2 "nacre: policy: $user/config.yaml:1:1: longer than *"
head -c 4096 /bin/true | config
nacre policy check
complains 'a program' 2 "nacre: policy: $user/config.yaml:1:1: *"
echo 'extends: a' > "$user/agents/b.yaml"
echo 'extends: b' > "$user/agents/a.yaml"
rm "$user/config.yaml"
nacre policy show --agent a
complains 'a loop' 2 "nacre: policy: $user/agents/b.yaml:1:10: extends: a loop: *"
rm "$user/agents/a.yaml" "$user/agents/b.yaml"
config < /dev/null
chmod 666 "$user/config.yaml"
nacre policy check
complains 'a file that all can write' 2 "nacre: policy: $user/config.yaml: others can write to it *"
chmod 644 "$user/config.yaml"
if [ "$(id -u)" -ne 0 ]; then
    chmod 000 "$user/config.yaml"
    nacre policy check
    complains 'a file that cannot be read is not nothing' 2 "nacre: policy: $user/config.yaml: Permission denied"
    chmod 644 "$user/config.yaml"
fi
ln -s nothing "$user/agents/gone.yaml"
nacre agents
complains 'a link that leads nowhere' 2 "nacre: agents: $user/agents/gone.yaml: *"
rm "$user/agents/gone.yaml"
echo 'shell: {unknown: maybe}' > "$scratch/other.yaml"
nacre policy check "$scratch/other.yaml"
complains 'check FILE' 2 "nacre: policy: $scratch/other.yaml:1:18: shell.unknown: must be one of deny, confirm, allow, not 'maybe'"
nacre policy hash --config "$scratch/other.yaml"
complains '--config FILE' 2 "nacre: policy: $scratch/other.yaml:1:18: *"
nacre policy check "$scratch/nothing.yaml"
complains 'a FILE that is not there' 2 "nacre: policy: $scratch/nothing.yaml: No such file or directory"

# --- wrong calls ------------------------------------------------------------------------------

nacre policy
complains 'policy alone' 2 'nacre: policy: what to do must be one of show, check *'
nacre policy frobnicate
complains 'policy and a word' 2 'nacre: policy: what to do *'
nacre policy show --agent nobody
complains 'an agent that nobody knows' 2 "nacre: policy: --agent: no agent is called 'nobody'*"
nacre policy show --agent codr
complains 'a likely one' 2 "nacre: policy: *; did you mean 'coder'?"
nacre policy show --profile fast
complains 'a profile that is none' 2 "nacre: *'--profile' must be one of safe, dev, full-auto, not 'fast'"
nacre agents x
complains 'agents takes no operands' 2 'nacre: agents: takes no operands'
printf 'network: on\n' | config
nacre policy hash
like 'a warning is given' "$err" 'nacre: warning: network: on *'
exits 'and is no failure' 0

done_testing

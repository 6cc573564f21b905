#!/usr/bin/env bash
# A judge that the command could have written, or led elsewhere, is not asked: whichever way the policy names it.

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"
NACRE=$JUDGE
export HOME=$scratch/home XDG_CONFIG_HOME=$scratch/config
config=$XDG_CONFIG_HOME/nacre/config.yaml
mkdir -p ws/dir "$HOME/bin" "$scratch/safe" "${config%/*}"
cat > "$scratch/safe/judge" << 'J'
#!/bin/sh
cat > /dev/null
echo '{"decision": "accept"}'
J
chmod 755 "$scratch/safe/judge"
cp "$scratch/safe/judge" "$HOME/bin/judge"
cp "$scratch/safe/judge" ws/dir/judge
ln -s "$scratch/safe" ws/link
ln -s "$PWD/ws/link" "$scratch/through"
ln -s "$scratch/safe" "$scratch/link"
asks() { # JUDGE [MORE]
    printf 'approvals: {judge: [%s]}\n%b' "$1" "${2:-}" > "$config"
    "$NACRE" run --json -w ws 'python3 -c "print(1)"' 2> /dev/null < /dev/null | jq -r .status
}
ws=$PWD/ws
is 'control: one out of reach' "$(asks "$scratch/safe/judge")" ok
is 'control: through a link of ours' "$(asks "$scratch/link/judge")" ok
is 'control: with words and files' "$(asks "$scratch/safe/judge, --strict, /etc/passwd, /not/there")" ok
is 'in the workspace' "$(asks "$ws/dir/judge")" needs_confirmation
is 'through a link in the workspace' "$(asks "$ws/link/judge")" needs_confirmation
is 'through a link to that link' "$(asks "$scratch/through/judge")" needs_confirmation
is 'through the workspace and out' "$(asks "$ws/link/../safe/judge")" needs_confirmation
is 'a script in the workspace' "$(asks "/bin/sh, $ws/dir/judge")" needs_confirmation
is 'one that is not there yet' "$(asks "$scratch/safe/judge, $ws/later")" needs_confirmation
is 'in a path that the command may write to' "$(asks "$HOME/bin/judge" "paths: {write: ['$HOME/bin']}")" needs_confirmation
is 'by the name of the home' "$(asks "$HOME/bin/judge" "paths: {write: ['~/bin']}")" needs_confirmation
done_testing

#!/usr/bin/env bash
# P1: what is found as the workspace is not widened by who can only write to a parent directory.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"

workspace_of() { (cd "$1" && "$NACRE" status --json | jq -r .workspace); }
here=$(pwd -P)

mkdir -p project/.git project/src shared/mine
is 'control: a project is found' "$(workspace_of project/src)" "$here/project"
mkdir shared/.git
chmod 1777 shared
is 'a directory that everyone may write to is not' "$(workspace_of shared/mine)" "$here/shared/mine"
chmod 755 shared
is 'control: otherwise it is' "$(workspace_of shared/mine)" "$here/shared"
if [ "$(id -u)" = 0 ]; then
    chown "$TEST_USER" shared/.git
    is 'nor by a marker of another owner' "$(workspace_of shared/mine)" "$here/shared/mine"
    chown "$TEST_USER" shared
    is 'nor a directory of another owner' "$(workspace_of shared/mine)" "$here/shared/mine"
fi

mkdir -p home/.git home/work
HOME=$here/home
export HOME
is 'the home directory is not found by climbing' "$(workspace_of home/work)" "$here/home/work"
(cd home && "$NACRE" run --json true > "$scratch/out" 2> /dev/null)
like 'being there is another thing, and is warned of' "$(jq -r '.warnings[0]' "$scratch/out")" '*home directory*'

done_testing

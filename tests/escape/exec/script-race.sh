#!/usr/bin/env bash
# X2: a script of the list lets by what reads it, and nothing that a link to another script had led to a moment before.

# shellcheck source=tests/escape/exec/lib.bash
. "$(dirname "$0")/lib.bash"

printf 'extends: full-auto\n' > "$scratch/policy.yaml"
cat > race.c << 'END'
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void)
{
    if (symlink("theirs", "one") < 0 || symlink("listed", "two") < 0)
        return 1;
    pid_t swaps = fork();
    while (!swaps)
        renameat2(AT_FDCWD, "one", AT_FDCWD, "two", RENAME_EXCHANGE);
    for (int i = 0; i < 400 && access("mark", F_OK) < 0; i++) {
        pid_t child = fork();
        if (child == 0) {
            execl("./one", "./one", (char *)NULL);
            _exit(1);
        }
        waitpid(child, NULL, 0);
    }
    kill(swaps, SIGKILL);
    return puts("done") < 0;
}
END
if ! cc -O -o race race.c 2> /dev/null; then
    skip 'a race' 'there is no compiler'
    done_testing
fi
# The one names another program, and the other the same one with another word.
for theirs in '/usr/bin/touch mark' '/usr/bin/env touch'; do
    rm -f mark one two
    printf '#!%s\n' "$theirs" > theirs
    printf '#!/usr/bin/env true\n' > listed
    chmod +x theirs listed
    judged --allow ./race --allow ./listed ./race
    is "$theirs: it came to its end" "$(jq -r .stdout <<< "$result")" 'done'
    is "$theirs: in no round did it run" \
        "$(jq -c '[.executed[] | select(.argv[0] | test("touch")) | select(.exit_code != 137)]' <<< "$result")" '[]'
    refute "$theirs: nor is there a mark" test -e mark
    like "$theirs: and it was tried" "$(warnings)" '*was stopped before it began*mandate*'
done

# What reads what reads it is let by as before.
printf '#!/bin/sh -e\necho "$@"\n' > reader
printf '#!%s/reader  a b \n' "$PWD" > listed
chmod +x reader listed
judged --allow ./listed --allow echo ./listed
is 'a script that reads a script of the list runs' "$(jq -r .stdout <<< "$result")" 'a b ./listed'

done_testing

#!/usr/bin/env bash
# X1: one file that is many commands: its name, its first argument and the file all count, and a rule
# on one command leaves the others alone.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/escape/exec/lib.bash
. "$(dirname "$0")/lib.bash"

cat > box.c << 'END'
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
int main(int argc, char **argv)
{
    const char *name = strrchr(argv[0], '/') ? strrchr(argv[0], '/') + 1 : argv[0];
    if (strcmp(name, "busybox") == 0 && argc > 1)
        name = *++argv;
    if (strcmp(name, "touch") == 0)
        return open("mark", O_CREAT | O_WRONLY, 0600) < 0;
    return printf("%s\n", name) < 0;
}
END
if ! cc -O -o busybox box.c 2> /dev/null; then
    skip 'many commands in one file' 'there is no compiler'
    done_testing
fi
ln -s busybox touch
ln -s busybox ls
stopped 'by its name' './touch mark' '*"./touch","mark"*'
stopped 'by its first argument' './busybox touch mark' '*"./busybox","touch","mark"*'
stopped 'by argv alone' 'exec -a touch ./ls mark' '*"touch","mark"*'
cp busybox coreutils
stopped 'by the value of its first option' './coreutils --coreutils-prog=touch mark' '*"--coreutils-prog=touch","mark"*'
judged './busybox ls; ./ls'
is 'other commands of it run' "$(jq -r .stdout <<< "$result")" $'ls\nls'
printf 'extends: full-auto\nshell:\n  deny: [busybox]\n' > "$scratch/policy.yaml"
judged './ls'
is 'a rule on the file itself holds for all' "$(jq -r .exit_code <<< "$result")" 137

done_testing

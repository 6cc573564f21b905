#!/usr/bin/env bash
# X1: a denied program that another file names as what reads it (#!) or as its loader is started by that, too.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/escape/exec/lib.bash
. "$(dirname "$0")/lib.bash"

printf 'extends: full-auto\nshell:\n  deny: [wanted, static]\n' > "$scratch/policy.yaml"
export HOME=$scratch/home
bin=$HOME/.cargo/bin
mkdir -p "$bin"
PATH=$bin:$PATH
stopped_now() { # NAME TEXT
    rm -f mark
    judged_later "$2"
    refute "$1: it does not run" test -e mark
    like "$1: the warning" "$(warnings)" '*was stopped before it began*'
}

# A denied script, under another name, that reads a script.
printf '#!/bin/sh\n: > mark\n' > "$bin/wanted"
chmod +x "$bin/wanted"
cp "$bin/wanted" copy
ln -s "$bin/wanted" link
for way in copy link; do
    printf '#!%s/%s\n' "$PWD" "$way" > one
    printf '#!%s/one -x\n' "$PWD" > two
    printf '#!%s/two ./three\n' "$PWD" > three
    chmod +x one two three
    for script in one two three; do stopped_now "a $way, by #! of $script" "./$script"; done
done
printf '#!/bin/sh -e\necho read by "$1"\n' > reader
printf '#!%s/reader\n' "$PWD" > one
chmod +x reader
judged_later './two a b'
is 'other scripts read scripts' "$(jq -r .stdout <<< "$result")" "read by $PWD/one"

# What a shell or another interpreter is told to run, by its name; what it is told besides is no program.
printf 'extends: full-auto\nshell:\n  deny: [wanted, static, ./tool]\n' > "$scratch/policy.yaml"
mkdir -p sub
printf ': > mark\n' > tool
printf 'open("mark", "w")\n' > sub/wanted
many=$(printf -- '-e %.0s' {1..40}) # no padding hides it
for text in "bash $bin/wanted" "bash $many $bin/wanted" "sh -e $bin/wanted" "exec -a ls bash $bin/wanted" 'sh ./tool' 'bash tool' 'python3 -u sub/wanted'; do
    stopped_now "$text" "$text"
done
judged_later 'bash -c "echo one" wanted; cat sub/wanted > /dev/null; sh -c "echo two" tool'
is 'arguments are no programs' "$(jq -r .stdout <<< "$result")" $'one\ntwo'

# A denied program as the loader of another one.
cat > static.c << 'END'
#include <fcntl.h>
#include <sys/syscall.h>
static long call(long number, long a, long b, long c)
{
    long r;
    __asm__ volatile("syscall" : "=a"(r) : "a"(number), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
    return r;
}
void _start(void)
{
    call(SYS_open, (long)"mark", O_CREAT | O_WRONLY, 0600);
    call(SYS_exit, 0, 0, 0);
}
END
echo 'int main(void) { return 0; }' > main.c
if ! cc -O -nostdlib -static -o "$bin/static" static.c 2> /dev/null || ! cc -o plain main.c; then
    skip 'a loader of its own' 'there is no compiler for it'
    done_testing
fi
cp "$bin/static" copy
ln -sf "$bin/static" link
for loader in "$bin/static" "$PWD/copy" ./copy "$PWD/link"; do
    cc -o named main.c "-Wl,--dynamic-linker=$loader"
    stopped_now "a program with the loader $loader" './named'
done
usual=$(ldd plain | sed -n 's/^[[:space:]]*\(\/[^ ]*ld[^ ]*\) .*/\1/p')
cp "$usual" mine
cc -o named main.c "-Wl,--dynamic-linker=$PWD/mine"
judged_later './named && ./plain && echo both'
is 'other loaders load' "$(jq -r .stdout <<< "$result")" both

done_testing

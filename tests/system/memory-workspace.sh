#!/usr/bin/env bash
# Runs alone.
# `--workspace :memory:`: a directory of nobody's, empty at the start and gone at the end; with the
# library it lasts as long as the handle.
# shellcheck disable=SC2016,SC2317 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

here=$PWD
secret="secret-$(unique)"
echo "$secret" > file
mkdir -p .nacre
memory() { nacre run --workspace :memory: "$@"; }
mounts() { cut -d' ' -f2,3 /proc/mounts | sort; }
before=$(find . -printf '%p %s %T@\n' | sort)
mounts_before=$(mounts)

# --- one run ------------------------------------------------------------------------------------------------

memory 'pwd; ls -A; stat -c "%U %a" .'
prints 'it is empty, and the own of the inside' $'/workspace\nagent 755'
memory 'echo x > f && mkdir -p a/b && ln -s f l && ln f h && mkfifo p && chmod 700 a && mv a c && cat l h && ls'
prints 'it can be written like any other' $'x\nx\nc\nf\nh\nl\np'
memory 'printf "int main(void) { return 7; }\n" > m.c && gcc m.c -o m && ./m'
exits 'programs can be built and run there' 7
memory 'git init -q . && git -c user.name=a -c user.email=b commit -q --allow-empty -m m && git log --format=%s'
prints 'git works there' m
memory 'ls -A; cat f 2>/dev/null; true'
prints 'the next run finds it empty' ''
memory "cat $here/file; ls -A $here; ls -A /workspace/..; df --output=fstype . | tail -1"
unlike 'no path of the host is behind it' "$out$err" "*$secret*"
like 'it is memory' "$out" '*tmpfs'
unlike 'its parent does not tell where we are' "$out" '*.nacre*'
is 'nothing is left in the directory that we are in' "$(find . -printf '%p %s %T@\n' | sort)" "$before"
check 'nor on the host' test ! -e /workspace

memory --cwd sub 'pwd'
unlike 'a directory that cannot be there yet is an error' "$code" 0
memory --cwd /workspace 'pwd'
prints '--cwd can name it' /workspace
for dir in .. / /tmp "$here" /workspace/../tmp; do
    memory --cwd "$dir" 'echo ran'
    exits "--cwd $dir is outside of it" 125
done
memory --json 'true'
check 'the result names its path inside' jq -e '.working_dir == "/workspace" and .status == "ok" and .strength == "full"' "$scratch/out"
memory --read-path "$here/file" "cat $here/file"
prints 'paths can be shown beside it' "$secret"
printf 'workspace: ro\n' > "$scratch/ro"
memory --config "$scratch/ro" 'echo x > f; ls -A'
is 'workspace: ro holds there, too' "$out" ''
printf 'paths: {hide: [.env], protect: [hooks]}\n' > "$scratch/covers"
memory --config "$scratch/covers" 'echo x > .env; mkdir hooks; ls -A'
exits 'paths to hide and to protect that cannot be there yet hold nothing up' 0
"$JUDGE" run --workspace :memory: 'ls -la; pwd' > "$scratch/out" 2> "$scratch/err"
is 'with a policy it is the same' "$? $(tail -1 "$scratch/out")" '0 /workspace'
"$JUDGE" run --agent coder --workspace :memory: 'echo x > f && cat f && mkdir d' > "$scratch/out" 2> "$scratch/err"
is 'an agent may write there' "$? $(cat "$scratch/out")" '0 x'
mkdir ./:memory:
echo real > ./:memory:/file
nacre run --workspace ./:memory: 'cat file'
prints 'a directory of that name is one with a path before it' real
rm -r ./:memory:

# Two at once have one each.
for word in one two; do
    "$NACRE" run --workspace :memory: "echo $word > mine; sleep 0.4; ls; cat mine" > "$scratch/$word" 2>&1 &
done
wait
is 'two runs at once do not share it' "$(cat "$scratch/one" "$scratch/two")" $'mine\none\nmine\ntwo'

# --- its size -------------------------------------------------------------------------------------------------

memory --json --limit disk=20MB --timeout 30s 'head -c 10M /dev/zero > a && head -c 30M /dev/zero > b; stat -c %s b'
check 'it is as large as the disk limit' jq -e '.status == "limit" or ((.stdout | tonumber) < 21000000)' "$scratch/out"
memory --json --limit memory=48MB --timeout 30s 'for i in 1 2 3 4 5 6 7 8; do head -c 16M /dev/zero > f$i || break; done 2>/dev/null; cat f* | wc -c'
check 'and no larger than the memory limit' jq -e '.status == "limit" or ((.stdout | tonumber) < 80000000)' "$scratch/out"
memory --json --limit disk=20MB --timeout 30s 'i=0; while [ $i -lt 30000 ] && : > n$i; do i=$((i+1)); done 2>/dev/null; echo $i'
check 'nor has it files without end' jq -e '.status == "limit" or ((.stdout | tonumber) < 30000)' "$scratch/out"

# --- the end of us ----------------------------------------------------------------------------------------------

tag=$(unique)
"$NACRE" run --workspace :memory: "echo x > f; sleep $tag" > /dev/null 2>&1 &
pid=$!
wait_until 10 alive "^sleep $tag"
kill -KILL "$pid"
wait "$pid" 2> /dev/null
is_gone 'nacre killed: nothing of the run is left' "$tag"
is 'no mount is left' "$(mounts)" "$mounts_before"

# --- with the library -------------------------------------------------------------------------------------------

cat > use.c << 'END'
#include <nacre.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void show(nacre *n, const char *text)
{
    nacre_run_options options = NACRE_RUN_OPTIONS_INIT;
    nacre_result *r;
    nacre_error error;
    options.workspace = ":memory:";
    options.unjudged = 1;
    options.timeout_ms = 20000;
    if (nacre_run(n, text, strlen(text), &options, &r, &error) < 0) {
        printf("error: %s\n", error.message);
        exit(1);
    }
    printf("%d %s%s\n", nacre_result_exit_code(r), nacre_result_output(r, NACRE_STDOUT, NULL), nacre_result_error(r));
    nacre_result_free(r);
}

/* The first run of a handle may be made by a thread that does not live as long as it. */
static void *first(void *n)
{
    show(n, "mkdir d; echo kept > d/f; printf 'exit 5' > d/p; chmod 755 d/p");
    return NULL;
}

int main(int argc, char **argv)
{
    nacre_options options = NACRE_OPTIONS_INIT;
    nacre *one, *two;
    pthread_t thread;
    nacre_error error;
    int before, after;
    if (argc < 2)
        return 2;
    options.launcher = argv[1];
    before = dup(0);
    close(before);
    if (nacre_open(&options, &one, &error) < 0 || nacre_open(&options, &two, &error) < 0)
        return 3;
    if (pthread_create(&thread, NULL, first, one) != 0 || pthread_join(thread, NULL) != 0)
        return 4;
    show(one, "cat d/f; d/p");
    show(two, "ls -A; echo other > g");
    show(one, "ls -A; echo more >> d/f; sleep 100 & true");
    show(one, "cat d/f");
    show(one, "kill -9 $$");
    show(one, "ls; rm -rf d; ls -A");
    show(two, "cat g");
    fflush(stdout);
    if (argc > 2) { /* to be killed with a handle open */
        puts("waiting");
        fflush(stdout);
        sleep(60);
    }
    nacre_close(one);
    nacre_close(two);
    after = dup(0);
    printf("%d descriptors left\n", after - before);
    return 0;
}
END
root=$STAGE/usr/local
check 'a program with a handle' gcc -Wall -Wextra -Werror use.c "-I$root/include" "$root/lib/libnacre.a" -lnettle -lsodium -ljansson -lfyaml -lsqlite3 -lzstd -lm -o use
launchers=$(pgrep -c -u "$(id -u)" -f nacre-launch)
./use "$NACRE_LAUNCH" > "$scratch/out" 2> "$scratch/err"
is 'files last from run to run of one handle, and are not seen by another' "$(cat "$scratch/out" "$scratch/err")" \
    $'0 \n5 kept\n\n0 \n0 d\n\n0 kept\nmore\n\n137 \n0 d\n\n0 other\n\n0 descriptors left'
no_more_launchers() { [ "$(pgrep -c -u "$(id -u)" -f nacre-launch)" -le "$launchers" ]; }
check 'no keeper is left when the handles are closed' wait_until 5 no_more_launchers
is 'no mount either' "$(mounts)" "$mounts_before"
./use "$NACRE_LAUNCH" wait > "$scratch/use-out" 2>&1 &
pid=$!
wait_until 20 grep -q waiting "$scratch/use-out"
children=$(pgrep -d ' ' -P "$pid")
kill -KILL "$pid"
wait "$pid" 2> /dev/null
# shellcheck disable=SC2086 # a list of numbers
if wait_until 8 bash -c "! kill -0 $children 2> /dev/null"; then ok 'nor when the program is killed'; else
    not_ok 'nor when the program is killed' "$(ps -o pid,args -p "${children// /,}")"
    kill -KILL $children 2> /dev/null
fi

done_testing

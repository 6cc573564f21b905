#!/usr/bin/env bash
# The library: its header alone, a program that uses it, and what it exports.

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
root=$STAGE/usr/local
strict=(-Wall -Wextra -Wpedantic -Werror -fsyntax-only "-I$root/include")

# --- the header -------------------------------------------------------------------------------

echo '#include <nacre.h>' > header.c
{
    echo '#include <nacre.h>'
    echo 'nacre_options a = NACRE_OPTIONS_INIT; nacre_run_options b = NACRE_RUN_OPTIONS_INIT;'
} > initializers.c
for compiler in gcc clang; do
    if ! command -v $compiler > /dev/null; then
        skip "$compiler compiles the header" "no $compiler here"
        continue
    fi
    for std in c99 c11 c17; do
        check "$compiler -std=$std takes the header alone" $compiler -std=$std "${strict[@]}" header.c
        check "$compiler -std=$std takes the initializers" $compiler -std=$std "${strict[@]}" initializers.c
    done
done
if command -v g++ > /dev/null; then
    for std in c++11 c++17 c++20; do
        check "g++ -std=$std takes the header alone" g++ -x c++ -std=$std "${strict[@]}" header.c
        check "g++ -std=$std takes the initializers" g++ -x c++ -std=$std "${strict[@]}" initializers.c
    done
else
    skip 'g++ compiles the header' 'no g++ here'
fi
printf '%s\n' '#include <nacre.h>' '#include <nacre.h>' 'typedef int size_bytes;' > twice.c
check 'the header may be included twice' gcc -std=c11 "${strict[@]}" twice.c

# --- a program --------------------------------------------------------------------------------

check 'the example links with the shared library' \
    gcc -Wall -Wextra -Werror "$STAGE/examples/run.c" "-I$root/include" "-L$root/lib" -lnacre -o run-shared
check 'and with the static one' \
    gcc -Wall -Wextra -Werror "$STAGE/examples/run.c" "-I$root/include" "$root/lib/libnacre.a" -lnettle -lsodium -ljansson -lfyaml -lsqlite3 -lzstd -lm -o run-static
export LD_LIBRARY_PATH=$root/lib
for kind in shared static; do
    ./run-$kind 'echo from the library; echo err >&2; exit 7' "$NACRE_LAUNCH" > "$scratch/out" 2> "$scratch/err"
    is "$kind: exit code and output" "$? $(cat "$scratch/out")" '7 from the library'
    like "$kind: standard error" "$(cat "$scratch/err")" 'err*'
    ./run-$kind 'id -un; hostname' "$NACRE_LAUNCH" > "$scratch/out" 2> /dev/null
    like "$kind: it is the sandbox" "$(cat "$scratch/out")" $'agent\nnacre'
    ./run-$kind 'mkdir ran' /nowhere > "$scratch/out" 2>&1
    is "$kind: without a launcher nothing runs" "$? $(find . -name ran)" '125 '
done
is 'the shared one needs the library by its soname' "$(readelf -d run-shared | sed -n 's/.*NEEDED.*\[\(libnacre.*\)\]/\1/p')" libnacre.so.0
unset LD_LIBRARY_PATH

# A program that reaps every child itself, ignores SIGCHLD, or has few descriptors.
cat > odd.c << 'EOF'
#include <nacre.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    nacre_options options = NACRE_OPTIONS_INIT;
    nacre *n;
    nacre_result *r;
    nacre_error error = {0, ""};
    int before, after, i;
    if (argc < 2)
        return 2;
    signal(SIGCHLD, SIG_IGN);
    options.launcher = argv[1];
    if (nacre_open(&options, &n, &error) < 0)
        return 3;
    before = dup(0);
    close(before);
    for (i = 0; i < 20; i++) {
        if (nacre_run(n, "echo x; sleep 100 & exit 4", 26, NULL, &r, &error) < 0)
            return 4;
        if (nacre_result_exit_code(r) != 4 || strcmp(nacre_result_output(r, NACRE_STDOUT, NULL), "x\n"))
            return 5;
        nacre_result_free(r);
    }
    if (nacre_run(n, "a\0b", 3, NULL, &r, &error) < 0 || nacre_result_status(r) != NACRE_STATUS_DENIED)
        return 6;
    nacre_result_free(r);
    nacre_close(n);
    nacre_close(NULL);
    nacre_result_free(NULL);
    after = dup(0);
    printf("%d descriptors left\n", after - before);
    return 0;
}
EOF
check 'another program' gcc -Wall -Wextra -Werror odd.c "-I$root/include" "$root/lib/libnacre.a" -lnettle -lsodium -ljansson -lfyaml -lsqlite3 -lzstd -lm -o odd
./odd "$NACRE_LAUNCH" > "$scratch/out" 2>&1
is 'that ignores SIGCHLD runs 20 commands and keeps no descriptor' "$? $(cat "$scratch/out")" '0 0 descriptors left'

# --- names ------------------------------------------------------------------------------------

wanted=$(sed -n 's/^ *NACRE_API .*[ *]\(nacre_[a-z_0-9]*\)(.*/\1/p' "$root/include/nacre.h" | sort)
is 'the header has functions' "$([ "$(wc -l <<< "$wanted")" -ge 12 ] && echo many)" many
is 'the shared library exports just them' \
    "$(nm -D --defined-only "$root/lib/libnacre.so" | awk '{print $3}' | sed 's/@.*//' | sort)" "$wanted"
is 'the static library too' "$(nm -g --defined-only "$root/lib/libnacre.a" | awk 'NF == 3 {print $3}' | sort)" "$wanted"
is 'the library does not print or exit' \
    "$(nm -D --undefined-only "$root/lib/libnacre.so" | awk '{print $2}' | sed 's/@.*//' | grep -xE 'exit|abort|printf|puts|__printf_chk|perror|system|popen|signal|sigaction')" ''
is 'it has no executable stack' "$(readelf -lW "$root/lib/libnacre.so" | awk '/GNU_STACK/ {print $7}')" RW

done_testing

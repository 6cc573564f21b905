#!/usr/bin/env bash
# P3: no variable of the caller makes the shell, the loader or a program inside run or read
# something else.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"

mkdir ws
echo 'echo GOT startup; touch harm' > ws/startup
cat > preload.c << 'C'
#include <unistd.h>
__attribute__((constructor)) static void start(void) { (void)!write(1, "GOT preload\n", 12); }
C
cc -shared -fPIC -o ws/preload.so preload.c || echo > ws/preload.so
like 'control: outside the shell would read it' "$(BASH_ENV=$PWD/ws/startup bash -c true 2>&1; rm -f harm)" '*GOT startup*'
like 'control: outside the loader would read it' "$(LD_PRELOAD=$PWD/ws/preload.so /bin/true)" '*GOT preload*'
run() { # VARIABLE=VALUE…
    env "$@" "$NACRE" run -w ws 'a="x y"; for w in $a; do echo $w; done; ls -d /; bash -c "echo inner"; sh -c "echo plain"; python3 -c "print(1)"; perl -e "print qq(2\n)"; git --version > /dev/null; set -x; :; set +x' > "$scratch/out" 2> "$scratch/err"
    out=$(cat "$scratch/out") err=$(cat "$scratch/err")
}
run
want=$out
like 'control: it runs' "$want" $'x\ny\n/\ninner\nplain\n1\n2'
at=$PWD/ws
for setting in "BASH_ENV=$at/startup" "ENV=$at/startup" "LD_PRELOAD=$at/preload.so" "LD_AUDIT=$at/preload.so" "LD_LIBRARY_PATH=$at" "LD_DEBUG=all" "PROMPT_COMMAND=. $at/startup" "IFS=xy" 'PS4=$(touch harm)GOT' 'SHELLOPTS=noexec:xtrace:verbose' 'BASHOPTS=extdebug' 'BASH_XTRACEFD=1' 'POSIXLY_CORRECT=1' "CDPATH=$at" 'GLOBIGNORE=*' "PATH=$at:$PATH" 'BASH_COMPAT=31' "PYTHONSTARTUP=$at/startup" "PYTHONPATH=$at" "PYTHONINSPECT=1" "PERL5OPT=-M$at/startup" "PERL5LIB=$at" "NODE_OPTIONS=--require $at/startup" 'GIT_EXEC_PATH=/nowhere' "GIT_CONFIG_GLOBAL=$at/startup" "GCONV_PATH=$at" "LOCPATH=$at" "MALLOC_CHECK_=3" "GLIBC_TUNABLES=glibc.malloc.check=3" 'BASH_FUNC_ls%%=() { echo GOT function; }' 'BASH_FUNC_set%%=() { echo GOT function; }' 'HOME=/nowhere/at/all' 'EXECIGNORE=*' 'FUNCNEST=1' 'TMOUT=1' "HISTFILE=$at/harm" 'SHLVL=99' 'BASH_ARGV0=GOT' 'OPTIND=x' "HOSTALIASES=$at/startup" "EDITOR=$at/startup" "SSLKEYLOGFILE=$at/harm"; do
    run "$setting"
    is "${setting%%=*} does nothing" "$out" "$want"
    if [[ $err == *GOT* || -e ws/harm || -e harm ]]; then not_ok "${setting%%=*} does harm" "$err"; fi
    rm -f ws/harm harm
done

done_testing

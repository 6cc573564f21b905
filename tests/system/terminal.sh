#!/usr/bin/env bash
# A terminal of its own for the command; what the person's is shown; programs that wait for input.
# shellcheck disable=SC2016,SC2035 # texts for the inside are not expanded here, and patterns are none of files

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
export LC_ALL=C.UTF-8

# Sits at a terminal: TEXT for nacre run --tty, then the steps on standard input. Leaves $out.
sit() { # TEXT [OPTION…]
    local text=$1
    shift
    cat > "$scratch/steps"
    out=$(timeout 60 python3 "$STAGE/tests/tools/person.py" "$scratch/steps" "$NACRE" run --tty "$@" "$text" 2>&1 | tr -d '\0')
}

# --- without a person --------------------------------------------------------------------------

nacre run --tty '[ -t 0 ] && [ -t 1 ] && [ -t 2 ] && echo terminal; stty size; echo err >&2; echo x > /dev/tty; ps -o sid= -p $$ | tr -d " "; exit 3'
is 'all three streams are a terminal' "$(head -4 "$scratch/out" | tr -d '\r')" $'terminal\n24 80\nerr\nx'
exits 'its exit status' 3
nacre run '[ -t 0 ] || [ -t 1 ] || [ -t 2 ] || echo none'
prints 'not without --tty' none
nacre run --tty --json 'printf "\033[31mred\033[m"; echo err >&2'
is 'captured as it is' "$(jq -r .stdout "$scratch/out" | cat -v)" '^[[31mred^[[merr^M'
is 'and recorded' "$("$NACRE" history --json "$(jq -r .correlation_id "$scratch/out")" | jq -r .output.stdout | cat -v)" '^[[31mred^[[merr^M'
nacre run --tty 'cat; echo end'
is 'who reads to the end comes to it' "$out" $'end\r'
printf 'one\ntwo\n' | nacre run --tty 'read a; read b; echo "$b $a"; cat; echo end'
like 'standard input is typed there' "$out" $'*two one\r\nend\r'
cp "$TOOLS/attack_kernel" .
nacre run --tty './attack_kernel terminal'
unlike 'nobody types for others on it' "$out" '*GOT*'
nacre run --tty 'python3 -c "
import os
for fd in range(3):
    try:
        os.open(\"/proc/self/fd/%d\" % fd, os.O_RDWR)
    except OSError: pass
print(sorted(os.listdir(\"/dev/pts\")))"'
like 'no terminal of the host is named inside' "$out" "*\['ptmx'\]*"
id=$("$NACRE" run --tty --background 'echo ready; read x; echo "got $x"')
"$NACRE" input "$id" word
"$NACRE" wait "$id" > "$scratch/out"
like 'a job can have one' "$(cat "$scratch/out")" $'*got word*'

# --- a person ----------------------------------------------------------------------------------

sit 'echo ready; read -r x; echo "got:$x"; stty size' << 'END'
size 33 111
wait ready
type word\r
wait got:
END
like 'what is typed arrives' "$out" $'*got:word\r\n*'
like 'and the settings are back' "$out" *$'settings same\nstatus 0'
sit 'trap "stty size; exit 5" WINCH; echo ready; while :; do sleep 0.1; done' << 'END'
wait ready
size 44 122
END
like 'a change of size is passed on' "$out" *$'44 122\r\n'*$'settings same\nstatus 5'
sit 'stty size; trap "echo caught; exit 7" INT; echo ready; while :; do sleep 0.1; done' << 'END'
wait ready
type \x03
END
like '^C is for the command' "$out" *$'caught\r\n'*$'settings same\nstatus 7'
sit 'echo ready; sleep 60' << 'END'
wait ready
type \x03
END
like '^C ends one that does not care' "$out" *$'settings same\nstatus 130'
sit 'echo ready; read -r x; echo "still:$x"' << 'END'
wait ready
type \x1a
pause 0.3
type here\r
END
like '^Z stops nothing of ours' "$out" *$'still:'*$'settings same\nstatus 0'
sit 'stty -echo -icanon; echo ready; x=$(dd bs=1 count=1 2> /dev/null); echo "key:$x"' << 'END'
wait ready
type q
END
like 'single keys' "$out" *key:q*$'settings same\nstatus 0'
for signal in SIGTERM:143 SIGHUP:129 SIGINT:130; do
    sit 'echo ready; sleep 60' << END
wait ready
signal ${signal%:*}
END
    like "${signal%:*}: the settings are back" "$out" *$'settings same\nstatus '*
done
sit 'echo ready; sleep 60' --timeout 1s << 'END'
wait ready
END
like 'past the time limit, too' "$out" *$'settings same\nstatus 124'
sit 'echo never' --agent nosuchagent << 'END'
wait xxx
END
like 'and when nothing ran' "$out" *$'settings same\nstatus 125'
# A person may think: nobody is cut off.
sit 'echo ready; read -r x; echo "got:$x"' << 'END'
wait ready
pause 7
type late\r
wait got:
END
like 'a slow person is waited for' "$out" *got:late*$'settings same\nstatus 0'

# --- what the person is shown ------------------------------------------------------------------

shown() { sit "$1" < /dev/null; }
shown 'printf "A\033[1;31mred\033[mB\033[2J\033[5;6HC\033[KD\033[?25l\033[?25hE\n"'
like 'moves and colours pass' "$out" *$'A\e[1;31mred\e[mB\e[2J\e[5;6HC\e[KD\e[?25l\e[?25hE'*
shown 'printf "a\033]52;c;ZXZpbA==\007b\033]0;title\033\\\\c\033]8;;http://x\033\\\\d\033Pq#0\033\\\\e\033_x\033\\\\f\033^y\033\\\\g\033Xz\033\\\\h\n"'
like 'strings that write elsewhere do not' "$out" *abcdefgh*
unlike 'none of them' "$out" *52*
shown 'printf "a\033[cb\033[>cc\033[6nd\033[18te\033[21tf\033cg\033[!ph\033[?1\$pi\033[0xj\033[>0qk\n"'
like 'nor questions that the terminal answers by typing' "$out" *abcdefghijk*
shown 'printf "a\302\233 31mb\302\235 52;x\302\234c\233d\342\200\256e\n"'
unlike 'nor C1 and bidirectional controls' "$out" *$'\u202e'*
unlike 'as bytes neither' "$out" *$'\302\233'*
shown 'printf "a\033[12345678901234567890123456789012345678901234567890mb\033[?9999hc\033[31\033[32md\n"'
like 'nor odd or torn ones' "$out" *$'abc\e[32md'*
shown 'printf "\033[?1049h\033[?25l\033[?1000hin\n"'
like 'what is left changed is put back' "$out" *$'in'*$'\e[?25h\e[?1049l\e[?1000l'*

# --- programs that wait for input --------------------------------------------------------------

SECONDS=0
nacre run --tty --timeout 60s 'stty -icanon -echo; cat'
exits 'on a terminal without a person' 124
like 'it is said' "$err" '*waited for input that cannot come*'
check 'long before the time limit' [ "$SECONDS" -lt 30 ]
nacre run --tty --timeout 60s 'stty -icanon -echo; (sleep 8; echo slow) & read -t 9 -n 5 x; wait; echo end'
like 'while something else goes on it is left alone' "$out" '*slow*end*'
# A pipe that is open, and on which nobody writes.
mkfifo "$scratch/silent"
exec 9<> "$scratch/silent"
nacre run --json --input-timeout 2s --timeout 50s 'cat' <&9
is 'a pipe on which nothing comes, where that was asked for' "$(jq -r .status "$scratch/out") $code" 'timeout 124'
like 'says why' "$(jq -r '.warnings[]' "$scratch/out")" '*waited for input that did not come*'
(sleep 4; echo late; sleep 1) | nacre run --timeout 50s 'cat'
prints 'without that a slow writer is waited for' late
(echo first; sleep 4; echo second) | nacre run --input-timeout 1s --timeout 50s 'cat'
prints 'and one that has written always is' $'first\nsecond'
(sleep 4; echo late) | nacre run --input-timeout 1s --timeout 50s 'sleep 2; echo busy; timeout 30 cat'
like 'and while something may still end by itself' "$out" $'busy\nlate'
nacre run --timeout 2s 'cat' <&9
exits 'at the time limit' 124
like 'it is told that it waited for input' "$err" '*waited for standard input, on which nothing came*'

done_testing

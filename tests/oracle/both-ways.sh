#!/usr/bin/env bash
# both-ways.sh TEXTS RENDERED RESULTS PART PARTS: runs texts and their renderings; for the sandbox.
#
# TEXTS and RENDERED are frames. Of every PARTS texts this runs one. Each runs in an empty directory
# that has the same name each time, with its standard input empty and a trace of its commands on
# the side. In the directory RESULTS there are then, with PART for each %:
#
#   differ-%      which texts (from 1) have a rendering that left something else: output, errors,
#                 exit code or files; N-difference has the difference
#   numbers-%     likewise, where all that differs is numbers, such as those of lines
#   traces-%      frames: the trace of each text; an empty one for those of other parts
#   again-%       the same of the renderings
#   ran-%         how many were run
set -u
export LC_ALL=C
texts=$1 rendered=$2 results=$(cd "$3" && pwd) part=$4 parts=$5
place=/tmp/both-ways-$part
mkdir -p "$place"
exec 3< "$texts" 4< "$rendered" 5> "$results/traces-$part" 6> "$results/again-$part"
: > "$results/differ-$part"
: > "$results/numbers-$part"

next() { # FD: the next frame goes to $text
    local size
    text=''
    IFS= read -r size <&"$1" || return 1
    # With a count of 0, read would wait for a line.
    [ "$size" -eq 0 ] || IFS= read -r -N "$size" text <&"$1"
}

run() { # TEXT RESULT: leaves out, err, code and files in the directory RESULT, which is not there
    mkdir -p "$place/work/files"
    cd "$place/work/files" || exit 1
    LC_ALL=C.UTF-8 BASH_XTRACEFD=9 PS4=$'\x1e ' timeout -k 1 5 bash -x -c -- "$1" \
        < /dev/null > ../out 2> ../err 3<&- 4<&- 5>&- 6>&- 9>> "$place/trace"
    echo "$?" > ../code
    cd "$place" || exit 1
    mv work "$2"
}

put_trace() { # FD: what is in the trace, as a frame
    local trace=''
    IFS= read -r -d '' trace < "$place/trace"
    printf '%d\n%s' "${#trace}" "$trace" >&"$1"
    : > "$place/trace"
}

cd "$place" || exit 1
number=0 ran=0
: > "$place/trace"
while next 3; do
    original=$text
    next 4 || exit 1
    number=$((number + 1))
    if [ $((number % parts)) -ne "$part" ] || [ -z "$text" ]; then
        printf '0\n' >&5
        printf '0\n' >&6
        continue
    fi
    ran=$((ran + 1))
    run "$original" text
    put_trace 5
    run "$text" rendered
    put_trace 6
    if ! diff -r text rendered > /dev/null; then
        # Once more: what differs by chance does not differ twice.
        rm -rf text rendered
        run "$original" text
        run "$text" rendered
        : > "$place/trace"
        if ! diff -r text rendered > "$place/difference"; then
            find text rendered -type f -exec sed -i 's/[0-9][0-9]*/N/g' {} +
            kind=differ
            if diff -r text rendered > /dev/null; then kind=numbers; fi
            echo "$number" >> "$results/$kind-$part"
            cp difference "$results/$number-difference"
        fi
    fi
    rm -rf text rendered
done
echo "$ran" > "$results/ran-$part"

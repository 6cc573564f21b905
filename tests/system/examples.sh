#!/usr/bin/env bash
# The programs of examples/ that drive the servers with nothing but what their languages have.

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

wanted=$'allow 0 8a1f0c9a \'\'\nallow 0 8a1f0c9a hello\ndeny 126 8a1f0c9a \'\'\nallow 0 8a1f0c9a hello'
plain() { tail -n +2 | tr -d '\n' | sed "s/\\\\n//g; s/\"/'/g; s/'hello'/hello/g; s/\\(allow\\|deny\\)/\\n\\1/g" | tail -n +2; }
drive() { # NAME PROGRAM WORD…
    local name=$1 said
    shift
    if ! command -v "$1" > /dev/null; then
        skip "$name" "$1 is not installed"
        return
    fi
    said=$("$@" "$JUDGE" 2> "$scratch/err") || not_ok "$name ends well" "$(cat "$scratch/err")"
    is "$name" "$(plain <<< "$said")" "$wanted"
    like "$name: it has a mandate" "$(head -1 <<< "$said")" 'mandate ????????'
}
drive 'Python over JSON-RPC' python3 "$STAGE/examples/rpc.py"
drive 'Node over JSON-RPC' node "$STAGE/examples/rpc.mjs"
drive 'Common Lisp over S-expressions' sbcl --script "$STAGE/examples/sexp.lisp"
done_testing

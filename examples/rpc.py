#!/usr/bin/env python3
"""A session over JSON-RPC with nothing but the standard library: examples/rpc.py [nacre]"""
import itertools, json, subprocess, sys

nacre = sys.argv[1] if len(sys.argv) > 1 else "nacre"
server = subprocess.Popen([nacre, "serve", "--rpc", "--workspace", ":memory:"],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8")
ids = itertools.count(1)


def call(method, **params):
    server.stdin.write(json.dumps({"jsonrpc": "2.0", "id": next(ids), "method": method, "params": params}) + "\n")
    server.stdin.flush()
    answer = json.loads(server.stdout.readline())
    if "error" in answer:
        raise RuntimeError(answer["error"]["message"])
    return answer["result"]


print("mandate", call("configure", allow=["echo", "cat"])["mandate_hash"][:8])
for command in ["echo hello > greeting", "cat greeting", "rm greeting", "cat greeting"]:
    result = call("exec", command=command)
    print(result["decision"], result["exit_code"], result["fs_hash"][:8], repr(result["stdout"]))
server.stdin.close()
sys.exit(server.wait())

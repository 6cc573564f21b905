#!/usr/bin/env node
// A session over JSON-RPC with nothing but the standard library: examples/rpc.mjs [nacre]
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

const nacre = process.argv[2] ?? 'nacre';
const server = spawn(nacre, ['serve', '--rpc', '--workspace', ':memory:'], { stdio: ['pipe', 'pipe', 'inherit'] });
const lines = createInterface({ input: server.stdout })[Symbol.asyncIterator]();
let id = 0;

async function call(method, params = {}) {
  server.stdin.write(JSON.stringify({ jsonrpc: '2.0', id: ++id, method, params }) + '\n');
  const answer = JSON.parse((await lines.next()).value);
  if (answer.error) throw new Error(answer.error.message);
  return answer.result;
}

console.log('mandate', (await call('configure', { allow: ['echo', 'cat'] })).mandate_hash.slice(0, 8));
for (const command of ['echo hello > greeting', 'cat greeting', 'rm greeting', 'cat greeting']) {
  const r = await call('exec', { command });
  console.log(r.decision, r.exit_code, r.fs_hash.slice(0, 8), JSON.stringify(r.stdout));
}
server.stdin.end();

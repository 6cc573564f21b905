// The MCP SDKs' own clients against `nacre serve --mcp`: each check is a line `ok NAME` or `not ok NAME # WHY`.
//
//   node mcp.mjs PROGRAM CONFIG ERA SCENARIO
//
// ERA is sdk (the 1.x client), legacy or modern (the 2.x client). node_modules lies beside this file.
import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as Stdio1 } from '@modelcontextprotocol/sdk/client/stdio.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { Client as Client2 } from '@modelcontextprotocol/client';
import { StdioClientTransport as Stdio2 } from '@modelcontextprotocol/client/stdio';
import { spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';

const [program, config, era, scenario] = process.argv.slice(2);
const args = (...more) => ['serve', '--mcp', '--config', config, ...more];

function check(good, name, why) {
    const detail = good ? '' : ` # ${String(typeof why === 'string' ? why : JSON.stringify(why)).replace(/\s+/g, ' ').slice(0, 600)}`;
    console.log(`${good ? 'ok' : 'not ok'} ${era}: ${name}${detail}`);
}
const same = (got, wanted, name) => check(JSON.stringify(got) === JSON.stringify(wanted), name, { got, wanted });
const has = (text, part, name) => check(String(text).includes(part), name, text);
const text = r => r.content.map(c => c.text).join('');
const pause = ms => new Promise(done => setTimeout(done, ms));
const unique = () => `9${process.pid}${Math.floor(Math.random() * 1e9)}`;

function alive(word) {
    return fs.readdirSync('/proc').some(pid => {
        if (!/^\d+$/.test(pid) || Number(pid) === process.pid) return false;
        try {
            return fs.readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(word);
        } catch {
            return false;
        }
    });
}
async function until(condition, name) {
    for (let i = 0; i < 400; i++) {
        if (await condition()) return check(true, name);
        await pause(25);
    }
    check(false, name, 'never');
}

// `answer` is what the client says when it is asked; undefined: it cannot be asked.
async function connect(answer, ...more) {
    const info = { name: 'nacre-test', version: '1' };
    const options = { capabilities: answer === undefined ? {} : { elicitation: {} } };
    const where = { command: program, args: args(...more), env: process.env, stderr: 'inherit' };
    const asked = [];
    const say = request => {
        asked.push(request.params.message);
        return answer;
    };
    let client, transport;
    if (era === 'sdk') {
        client = new Client1(info, options);
        transport = new Stdio1(where);
        if (answer !== undefined) client.setRequestHandler(ElicitRequestSchema, async r => say(r));
    } else {
        const mode = era === 'modern' ? { pin: '2026-07-28' } : 'legacy';
        client = new Client2(info, { ...options, versionNegotiation: { mode } });
        transport = new Stdio2(where);
        if (answer !== undefined) client.setRequestHandler('elicitation/create', async r => say(r));
    }
    await client.connect(transport);
    const call = (name, input = {}, how = {}) =>
        era === 'sdk'
            ? client.callTool({ name, arguments: input }, undefined, how)
            : client.callTool({ name, arguments: input }, how);
    return { client, transport, call, asked };
}

const scenarios = {
    async tools() {
        const { client, call } = await connect(undefined, '--patience', '1s');
        const tools = (await client.listTools()).tools;
        same(tools.map(t => t.name).sort(),
            ['command_input', 'command_kill', 'command_status', 'commit', 'diff', 'discard', 'history', 'run_command',
                'run_script', 'test_command', 'undo'], 'every tool is there');
        check(tools.every(t => t.inputSchema && t.outputSchema && t.annotations && t.description), 'with schemas and words', tools);

        let r = await call('run_command', { command: "echo out; printf 'e\\033[2J\\n' >&2; echo new > file" });
        let s = r.structuredContent;
        same([s.status, s.exit_code, s.stdout, s.stderr], ['ok', 0, 'out\n', 'e\\x1b[2J\n'], 'a result, escaped');
        has(text(r), 'stdout:\nout\nstderr:\ne\\x1b[2J\n', 'the text stands alone');
        has(text(r), s.correlation_id, 'and has the id');
        same(s.changes.created, ['file'], 'changes');
        const id = s.correlation_id;
        same((await call('run_command', { command: 'cat; pwd', stdin: 'in\0put\n', cwd: 'sub' })).structuredContent.stdout,
            `in\\x00put\n${process.cwd()}/sub\n`, 'standard input and directory');
        r = await call('run_command', { command: 'false' });
        same([r.structuredContent.status, r.structuredContent.exit_code, r.isError], ['failed', 1, false], 'a command that fails');
        r = await call('run_command', { command: 'sudo ls' });
        same([r.structuredContent.status, r.isError], ['denied', true], 'one that is denied');
        has(text(r), "'sudo' is denied", 'and why');
        r = await call('run_command', { command: 'sleep 30', timeout_ms: 200 });
        same(r.structuredContent.status, 'timeout', 'one that takes too long');
        await call('run_command', { command: 'x=5; cd sub', session: 's' });
        same((await call('run_command', { command: 'echo $x ${PWD##*/}', session: 's' })).structuredContent.stdout, '5 sub\n', 'a session');
        r = await call('run_command', { command: 'seq 30000' });
        check(r.structuredContent.stdout.length < 51000 && r.structuredContent.stdout_truncated, 'output is cut', r.structuredContent.stdout.length);
        const long = r.structuredContent.correlation_id;

        same((await call('test_command', { command: 'ls | sudo cat' })).structuredContent.decision, 'deny', 'test_command');
        r = await call('history', { limit: 3 });
        same(r.structuredContent.runs.length, 3, 'history');
        has(text(await call('history', { id })), 'echo new > file', 'one run of it');
        r = await call('diff', { id });
        has(r.structuredContent.diff, '+new', 'diff');
        has(text(r), '+new', 'and its text');
        r = await call('undo', { id });
        same([r.structuredContent.status, fs.existsSync('file')], ['undone', false], 'undo');
        r = await call('undo', { id });
        same(r.isError, true, 'but once');
        r = await call('run_command', { command: 'echo s > staged', stage: true });
        same([r.structuredContent.status, fs.existsSync('staged')], ['ok', false], 'a staged run');
        r = await call('commit', { id: r.structuredContent.correlation_id });
        same([r.structuredContent.status, fs.existsSync('staged')], ['committed', true], 'commit');
        fs.unlinkSync('staged');
        r = await call('run_command', { command: 'echo t > thrown', stage: true });
        r = await call('discard', { id: r.structuredContent.correlation_id });
        same([r.structuredContent.status, fs.existsSync('thrown')], ['discarded', false], 'discard');
        r = await call('run_command', { command: 'rm -rf many' });
        same([r.structuredContent.status, r.isError], ['needs_confirmation', true], 'changes that are held');
        const held = r.structuredContent.correlation_id;
        r = await call('commit', { id: held });
        same([r.isError, fs.existsSync('many/1')], [true, true], 'are not for the agent to commit');
        await call('discard', { id: held });

        r = await call('run_command', { command: 'true', nope: 1 }).catch(e => e);
        same([r.isError, r.structuredContent?.argument], [true, 'nope'], 'a bad argument is an error of the tool');
        r = await call('nope').catch(e => e);
        same(r.code, -32602, 'an unknown tool is one of the protocol');

        const word = unique();
        r = await call('run_command', { command: `while read -r a; do echo "got $a"; done; sleep ${word}`, background: true });
        const job = r.structuredContent.id;
        same(r.structuredContent.status, 'running', 'in the background');
        await call('command_input', { id: job, text: 'one\n' });
        let seen = '';
        await until(async () => {
            r = await call('command_status', { id: job, wait_ms: 500 });
            seen += r.structuredContent.stdout;
            return seen === 'got one\n';
        }, 'input reaches it, and output comes');
        same((await call('command_status', { id: job })).structuredContent.stdout, '', 'which is told once');
        await call('command_input', { id: job, text: 'two\n', eof: true });
        await until(() => alive(`sleep\0${word}`), 'it goes on');
        r = await call('command_kill', { id: job });
        same([r.structuredContent.status, r.structuredContent.stdout], ['killed', 'got one\ngot two\n'], 'and is killed');
        await until(() => !alive(`sleep\0${word}`), 'with all that it started');
        r = await call('run_command', { command: 'echo a; sleep 2.5; echo b' });
        same([r.structuredContent.status, r.structuredContent.stdout], ['running', 'a\n'], 'past the patience there is a handle');
        await until(async () => {
            r = await call('command_status', { id: r.structuredContent.id ?? r.structuredContent.correlation_id, wait_ms: 900 });
            return r.structuredContent.status === 'ok';
        }, 'by which the rest is had');
        same(r.structuredContent.stdout, 'a\nb\n', 'all of it');
        r = await call('command_status', { id: '00000000-0000-0000-0000-000000000000' });
        same(r.isError, true, 'a handle that is none');

        const listed = (await client.listResources()).resources;
        check(listed.some(x => x.uri === `nacre://run/${held}`), 'resources', listed.map(x => x.uri));
        same((await client.listResourceTemplates()).resourceTemplates.length, 5, 'templates');
        r = (await client.readResource({ uri: `nacre://run/${long}/stdout` })).contents[0].text;
        same(r.length, 168894, 'an output in full');
        r = (await client.readResource({ uri: `nacre://run/${id}/diff` })).contents[0].text;
        has(r, '+new', 'a diff');
        r = JSON.parse((await client.readResource({ uri: `nacre://run/${id}` })).contents[0].text);
        same(r.correlation_id, id, 'a record');
        r = JSON.parse((await client.readResource({ uri: `nacre://ledger/${r.result.index}` })).contents[0].text);
        same(r.id, id, 'an entry of the ledger');
        same((await client.readResource({ uri: 'nacre://run/../x' }).catch(e => e)).code, -32602, 'and none of other forms');
        same((await client.listPrompts()).prompts.map(p => p.name), ['shell', 'review', 'explain'], 'prompts');
        has((await client.getPrompt({ name: 'shell' })).messages[0].content.text, process.cwd(), 'one of them');
        r = await client.complete({ ref: { type: 'ref/prompt', name: 'review' }, argument: { name: 'id', value: id.slice(0, 6) } });
        same(r.completion.values, [id], 'completion of an id');
        await client.close();
    },

    async elicit() {
        const yes = { action: 'accept', content: { approve: true } };
        for (const [answer, name, wanted] of [
            [yes, 'accepted', 'failed'],
            [{ action: 'accept', content: { approve: false } }, 'accepted without a yes', 'needs_confirmation'],
            [{ action: 'decline' }, 'declined', 'needs_confirmation'],
            [{ action: 'cancel' }, 'cancelled', 'needs_confirmation'],
            [undefined, 'missing', 'needs_confirmation'],
        ]) {
            const { client, call, asked } = await connect(answer);
            const command = `frobnicate ${name.length} '\u202e'`;
            const r = await call('run_command', { command });
            const s = r.structuredContent;
            same(s.status, wanted, `${name}: the run`);
            same(asked.length, answer === undefined ? 0 : 1, `${name}: questions`);
            if (answer !== undefined) has(asked[0], `frobnicate ${name.length} '\\u{202e}'`, `${name}: what is shown`);
            if (wanted === 'needs_confirmation') {
                check(/^[0-9a-f-]{36}$/.test(s.pending), `${name}: the question is open`, s);
                has(text(r), `nacre approve ${s.pending.slice(0, 8)}`, `${name}: and says how it is answered`);
            }
            await client.close();
        }
        const { client, call, asked } = await connect(yes);
        let r = await call('run_command', { command: `frobnicate\n${'true\n'.repeat(100)}` });
        same([r.structuredContent.status, asked.length], ['needs_confirmation', 0], 'what is too long to be shown is not asked here');
        r = await call('run_command', { command: 'sudo ls' });
        same([r.structuredContent.status, asked.length], ['denied', 0], 'nor what is denied');
        const script = "import sys\nprint('\u202e', sys.argv[1])\nsys.exit('broken')\n";
        r = await call('run_script', { language: 'python', script, args: ['a b'] });
        let result = r.structuredContent;
        same([result.status, result.synthesis, result.exit_code, result.script.language, asked.length],
            ['failed', true, 1, 'python', 1], 'a script is asked about');
        has(asked[0], "print('\\u{202e}', sys.argv[1])", 'and shown');
        has(asked[0], 'a b', 'with its arguments');
        has(result.analysis, 'write the script anew', 'its failure comes with a task');
        has(text(r), 'mend it', 'in the text, too');
        r = await call('run_script', { language: 'klingon', script: 'x' });
        has(text(r), "unknown language 'klingon'", 'a language that is not known');
        r = await call('run_script', { language: 'bash', script: 'echo $1', args: ['one'] });
        same([r.structuredContent.status, r.structuredContent.stdout], ['ok', 'one\n'], 'a script of bash');
        r = await call('run_script', { language: 'bash', script: 'true', args: 'one' }).catch(e => e);
        same(r.structuredContent.argument, 'args', 'arguments are a list');
        await client.close();
    },

    async unasked() { // by a policy that does not let clients answer
        const { client, call, asked } = await connect({ action: 'accept', content: { approve: true } });
        const r = await call('run_command', { command: 'frobnicate' });
        same([r.structuredContent.status, asked.length], ['needs_confirmation', 0], 'a client\'s word does not count by itself');
        await client.close();
    },

    async pending() { // what a person answers in another terminal
        const say = (...words) => spawnSync(program, words, { encoding: 'utf8' });
        let { client, call } = await connect(undefined);
        let r = await call('run_command', { command: 'frobnicate again' });
        const id = r.structuredContent.pending;
        r = await call('run_command', { command: 'frobnicate again' });
        same(r.structuredContent.status, 'needs_confirmation', 'nothing goes through by being asked twice');
        same(say('approve', '--yes', id).status, 0, 'somebody says yes');
        r = await call('run_command', { command: 'frobnicate other' });
        same(r.structuredContent.status, 'needs_confirmation', 'which is for no other call');
        r = await call('run_command', { command: 'frobnicate again' });
        same([r.structuredContent.status, r.structuredContent.exit_code], ['failed', 127], 'then the same call runs');
        r = await call('run_command', { command: 'frobnicate again' });
        same(r.structuredContent.status, 'needs_confirmation', 'once');
        same(say('deny', '--reason', 'not today', r.structuredContent.pending).status, 0, 'somebody says no');
        r = await call('run_command', { command: 'frobnicate again' });
        same(r.structuredContent.status, 'denied', 'and it is denied');
        has(text(r), 'not today', 'with the reason');
        await client.close();
        ({ client, call } = await connect(undefined, '--wait', '--patience', '500ms'));
        r = await call('run_command', { command: 'frobnicate waiting' });
        same(r.structuredContent.status, 'waiting', 'one that waits has a handle');
        same(say('approve', '--yes', r.structuredContent.pending).status, 0, 'and is answered');
        const handle = r.structuredContent.id;
        await until(async () => {
            r = await call('command_status', { id: handle, wait_ms: 300 });
            return r.structuredContent.status === 'failed';
        }, 'and runs');
        await client.close();
    },

    async cancel() {
        const { client, call } = await connect(undefined, '--progress', '50ms');
        const word = unique(), stop = new AbortController(), progress = [];
        const run = call('run_command', { command: `sleep ${word} & sleep ${word}` },
            { signal: stop.signal, onprogress: p => progress.push(p) }).catch(e => e);
        await until(() => alive(`sleep\0${word}`) && progress.length > 1, 'it runs, and says so');
        check(progress.every((p, i) => i === 0 || p.progress > progress[i - 1].progress), 'more each time', progress);
        stop.abort('enough');
        check((await run) instanceof Error, 'cancelled');
        await until(() => !alive(`sleep\0${word}`), 'everything in the box is gone');
        same((await call('run_command', { command: 'echo on' })).structuredContent.stdout, 'on\n', 'and the server goes on');
        await client.close();
    },

    async many() {
        const { client, call, transport } = await connect(undefined);
        const all = await Promise.all(Array.from({ length: 200 }, (_, i) =>
            call('run_command', { command: `echo ${i}` }, { timeout: 300000 }).then(r => r.structuredContent.stdout, e => String(e))));
        same(all.filter((out, i) => out !== `${i}\n`), [], '200 calls at once');
        const fds = fs.readdirSync(`/proc/${transport.pid}/fd`).length;
        check(fds < 120, 'no descriptor is left over', fds);
        await client.close();
    },

    async raw() { // what no SDK would send
        const server = spawn(program, args(), { stdio: ['pipe', 'pipe', 'inherit'] });
        let buffered = '', lines = [], wake = () => {};
        server.stdout.on('data', d => {
            buffered += d;
            lines.push(...buffered.split('\n').slice(0, -1));
            buffered = buffered.slice(buffered.lastIndexOf('\n') + 1);
            wake();
        });
        const next = async () => {
            while (!lines.length) await new Promise(done => (wake = done));
            return JSON.parse(lines.shift());
        };
        const send = line => server.stdin.write(line);
        send('garbage\n');
        same((await next()).error.code, -32700, 'garbage');
        send(`{"jsonrpc":"2.0","id":1,"method":"ping","params":${'['.repeat(100000)}\n`);
        same((await next()).error.code, -32700, 'deep nesting');
        send('{"jsonrpc":"2.0","params":{"x":"');
        for (let i = 0; i < 100; i++) {
            if (!send('y'.repeat(1 << 20))) await new Promise(done => server.stdin.once('drain', done));
        }
        send('"},"method":"ping","id":"big"}\n');
        let r = await next();
        same([r.id, r.error.code], ['big', -32600], 'a message of 100 MB');
        const peak = Number(/VmHWM:\s+(\d+)/.exec(fs.readFileSync(`/proc/${server.pid}/status`))[1]);
        check(peak < 60000, 'is not kept', peak);
        send('{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}\n');
        same((await next()).result.protocolVersion, '2025-11-25', 'and the server goes on');
        const word = unique();
        const run = id => `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"run_command","arguments":{"command":"sleep ${word}"}}}\n`;
        send(run(5) + run(5));
        r = await next();
        same([r.id, r.error.code], [5, -32600], 'an id that is in use');
        send(`{"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":"run_command","arguments":{"command":"echo \\u0000"}}}\n`);
        r = await next();
        same([r.id, r.result.structuredContent.status], [6, 'denied'], 'a NUL in a command');
        await until(() => alive(`sleep\0${word}`), 'a run is under way');
        // Half a message, and its end.
        send('{"jsonrpc":"2.0","id":7,"meth');
        server.stdin.end();
        const code = await new Promise(done => server.on('exit', done));
        same(code, 0, 'it ends with its input');
        await until(() => !alive(`sleep\0${word}`), 'and the run with it');
    },

    async deaf() { // one that does not read, and closes its end
        const server = spawn(program, args(), { stdio: ['pipe', 'pipe', 'inherit'] });
        server.stdout.pause();
        const meta = '"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}';
        for (let i = 0; i < 300; i++)
            server.stdin.write(`{"jsonrpc":"2.0","id":${i},"method":"tools/list","params":{${meta}}}\n`);
        const word = unique();
        server.stdin.write(`{"jsonrpc":"2.0","id":"r","method":"tools/call","params":{"name":"run_command","arguments":{"command":"sleep ${word}"},${meta}}}\n`);
        server.stdin.end();
        const code = await new Promise(done => server.on('exit', done));
        same(code, 0, 'a client that does not read is not waited for');
        check(!alive(word), 'and nothing is left');
        server.stdout.destroy();
    },

    async vanish() { // a client that is killed
        const word = unique();
        const child = spawn(process.execPath, [process.argv[1], program, config, era, `hold-${word}`], { stdio: 'inherit' });
        await until(() => alive(`sleep\0${word}`), 'a run is under way');
        child.kill('SIGKILL');
        await until(() => !alive(word), 'the client is gone, and everything with it');
    },
};

if (scenario.startsWith('hold-')) {
    const { call } = await connect(undefined);
    await Promise.all([1, 2, 3].map(() => call('run_command', { command: `sleep ${scenario.slice(5)}` })));
} else {
    try {
        await scenarios[scenario]();
    } catch (e) {
        check(false, `${scenario} came to its end`, e.stack ?? String(e));
    }
}
process.exit(0);

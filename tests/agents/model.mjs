// A model on loopback that knows one thing: it calls the tool whose name ends with run_command, once, and then says what came
// of it. It speaks as four services do, as far as four agents need it.
//
//   node model.mjs COMMAND LOG       prints its port; LOG gets one line of JSON for each request
import fs from 'node:fs';
import http from 'node:http';

const [command, log] = process.argv.slice(2);
const words = 'the tool said: ';
const note = what => fs.appendFileSync(log, `${JSON.stringify(what)}\n`);
const named = list => list.find(name => /run_command$/.test(name ?? ''));

function events(response, list) {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const [event, data] of list)
        response.write(`${event ? `event: ${event}\n` : ''}data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`);
    response.end();
}

// --- OpenAI's responses ---
function responses(body, response) {
    const said = body.input?.filter?.(i => i.type === 'function_call_output') ?? [];
    const tools = (body.tools ?? []).flatMap(t => (t.tools ? t.tools.map(x => ({ ...x, namespace: t.name })) : [t]));
    const tool = tools.find(t => /run_command$/.test(t.name ?? ''));
    const item = !said.length && tool
        ? {
            type: 'function_call', id: 'fc_1', call_id: 'call_1', name: tool.name, arguments: JSON.stringify({ command }),
            status: 'completed', ...(tool.namespace && { namespace: tool.namespace }),
        }
        : {
            type: 'message', id: 'msg_1', role: 'assistant', status: 'completed',
            content: [{ type: 'output_text', annotations: [], text: words + JSON.stringify(said[0]?.output ?? 'nothing') }],
        };
    note({ api: 'responses', tools: tools.map(t => t.name), said });
    const whole = { id: 'resp_1', object: 'response', model: body.model, status: 'completed', output: [item],
        usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 } };
    events(response, [
        ['response.created', { type: 'response.created', response: { ...whole, status: 'in_progress', output: [] } }],
        ['response.output_item.added', { type: 'response.output_item.added', output_index: 0, item }],
        ['response.output_item.done', { type: 'response.output_item.done', output_index: 0, item }],
        ['response.completed', { type: 'response.completed', response: whole }],
    ]);
}

// --- Anthropic's messages ---
function messages(body, response) {
    const content = (body.messages ?? []).flatMap(m => (Array.isArray(m.content) ? m.content : []));
    const said = content.filter(c => c.type === 'tool_result');
    const tool = named((body.tools ?? []).map(t => t.name));
    const calls = !said.length && tool;
    note({ api: 'messages', tools: (body.tools ?? []).map(t => t.name), said });
    const text = said.length ? words + JSON.stringify(said[0].content) : 'nothing to do';
    if (!body.stream) {
        response.writeHead(200, { 'content-type': 'application/json' });
        response.end(JSON.stringify({ id: 'msg_1', type: 'message', role: 'assistant', model: body.model, stop_reason: 'end_turn',
            content: [{ type: 'text', text }], usage: { input_tokens: 1, output_tokens: 1 } }));
        return;
    }
    events(response, [
        { type: 'message_start', message: { id: 'msg_1', type: 'message', role: 'assistant', model: body.model, content: [],
            stop_reason: null, usage: { input_tokens: 1, output_tokens: 1 } } },
        { type: 'content_block_start', index: 0,
            content_block: calls ? { type: 'tool_use', id: 'toolu_1', name: tool, input: {} } : { type: 'text', text: '' } },
        { type: 'content_block_delta', index: 0,
            delta: calls ? { type: 'input_json_delta', partial_json: JSON.stringify({ command }) } : { type: 'text_delta', text } },
        { type: 'content_block_stop', index: 0 },
        { type: 'message_delta', delta: { stop_reason: calls ? 'tool_use' : 'end_turn' }, usage: { output_tokens: 1 } },
        { type: 'message_stop' },
    ].map(e => [e.type, e]));
}

// --- OpenAI's chat completions, as compatible services have them ---
function completions(body, response) {
    const said = body.messages?.filter(m => m.role === 'tool') ?? [];
    const tool = named((body.tools ?? []).map(t => t.function?.name));
    const calls = !said.length && tool;
    note({ api: 'completions', tools: (body.tools ?? []).map(t => t.function?.name), said });
    const base = { id: 'c_1', object: 'chat.completion.chunk', created: 1, model: body.model };
    const delta = calls
        ? { role: 'assistant', tool_calls: [{ index: 0, id: 'call_1', type: 'function',
            function: { name: tool, arguments: JSON.stringify({ command }) } }] }
        : { role: 'assistant', content: said.length ? words + JSON.stringify(said[0].content) : 'nothing to do' };
    events(response, [
        ['', { ...base, choices: [{ index: 0, delta, finish_reason: null }] }],
        ['', { ...base, choices: [{ index: 0, delta: {}, finish_reason: calls ? 'tool_calls' : 'stop' }],
            usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 } }],
        ['', '[DONE]'],
    ]);
}

// --- Google's ---
function generate(body, response, streams) {
    const parts = (body.contents ?? []).flatMap(c => c.parts ?? []);
    const said = parts.filter(p => p.functionResponse);
    const tool = named((body.tools ?? []).flatMap(t => t.functionDeclarations ?? []).map(f => f.name));
    const part = !said.length && tool
        ? { functionCall: { name: tool, args: { command } } }
        : { text: said.length ? words + JSON.stringify(said[0].functionResponse.response) : 'nothing to do' };
    note({ api: 'generate', tools: (body.tools ?? []).flatMap(t => t.functionDeclarations ?? []).map(f => f.name), said });
    const whole = { candidates: [{ content: { role: 'model', parts: [part] }, finishReason: 'STOP', index: 0 }],
        usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 } };
    if (streams) return events(response, [['', whole]]);
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(whole));
}

const server = http.createServer((request, response) => {
    let bytes = '';
    request.on('data', d => (bytes += d));
    request.on('end', () => {
        let body = {};
        try {
            body = JSON.parse(bytes || '{}');
        } catch {
            note({ odd: request.url, encoding: request.headers['content-encoding'] });
        }
        const path = request.url;
        if (request.method === 'POST' && path.includes('count_tokens')) {
            response.end('{"input_tokens":1}');
        } else if (request.method === 'POST' && path.includes('/responses')) responses(body, response);
        else if (request.method === 'POST' && path.includes('/messages')) messages(body, response);
        else if (request.method === 'POST' && path.includes('/chat/completions')) completions(body, response);
        else if (request.method === 'POST' && path.includes('enerateContent')) generate(body, response, path.includes(':stream'));
        else {
            note({ other: `${request.method} ${path}` });
            response.writeHead(404, { 'content-type': 'application/json' });
            response.end('{"error":{"message":"there is only a model here"}}');
        }
    });
});
server.listen(0, '127.0.0.1', () => console.log(server.address().port));

/*
 * The MCP server without a transport: lines cut anywhere, messages that are none, both eras, what
 * is permitted when, arguments, and the state that binds an answer to its question.
 */
#include <jansson.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "serve/mcp.h"
#include "serve/mcp_internal.h"
#include "tap.h"

static struct buf said; /* all lines so far */
static struct mcp *server;
static nacre *handle;
static nacre_run_options run = NACRE_RUN_OPTIONS_INIT;

static int take_line(void *user, const char *line, size_t len)
{
    (void)user;
    return buf_append(&said, line, len);
}

/* In place of the tools: says which one it would have been. */
static void stand_in(void *user, struct mcp_call *call, struct jsonrpc_reply *reply)
{
    struct json j;
    (void)user;
    mcp_result_begin(&j, reply, call, false);
    json_key(&j, "called");
    json_text(&j, call->tool->name);
    mcp_result_end(&j, reply);
}

static void start(bool stands_in)
{
    struct err e = {0};
    const struct mcp_options options = {
        .run = &run,
        .message_max = 4096,
        .write = take_line,
        .instead = stands_in ? stand_in : NULL,
    };
    mcp_free(server);
    buf_clear(&said);
    if (mcp_new(&options, handle, &server, &e) < 0)
        exit(1);
}

static void feed(const char *line)
{
    mcp_feed(server, line, strlen(line));
    mcp_feed(server, "\n", 1);
}

/* The one line that came of it, for json_decref; NULL: none, or several. */
static json_t *answer(const char *line)
{
    buf_clear(&said);
    feed(line);
    const char *end = memchr(said.data, '\n', said.len);
    return end && end == said.data + said.len - 1 ? json_loadb(said.data, said.len, 0, NULL) : NULL;
}

static long long code_of(const json_t *value)
{
    return json_integer_value(json_object_get(json_object_get(value, "error"), "code"));
}

static void refuses(const char *line, int code, const char *id, const char *name)
{
    char found[512] = "null";
    json_t *value = answer(line);
    jsonrpc_id_text(json_object_get(value, "id"), found, sizeof(found));
    bool right = code_of(value) == code && strcmp(found, id) == 0;
    tap_check(right, "%s", name);
    if (!right)
        printf("#   said: %s\n", said.data);
    json_decref(value);
}

static void answers(const char *line, const char *has, const char *name)
{
    json_t *value = answer(line);
    bool right = json_object_get(value, "result") && strstr(said.data, has);
    tap_check(right, "%s", name);
    if (!right)
        printf("#   said: %s\n", said.data);
    json_decref(value);
}

#define INITIALIZE(version)                                                                        \
    "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":"     \
    "\"" version "\",\"capabilities\":{\"elicitation\":{}}}}"
#define META                                                                                       \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","                       \
    "\"io.modelcontextprotocol/clientCapabilities\":{}}"

/* --- lines --------------------------------------------------------------------------------------
 */

static void test_lines(void)
{
    static const char ping[] = "{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"ping\"}\n";
    start(true);
    for (size_t i = 0; i < sizeof(ping) - 1; i++)
        mcp_feed(server, ping + i, 1);
    tap_text(said.data, "{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"result\":{}}\n", "a byte at a time");
    buf_clear(&said);
    mcp_feed(server, "\n\r\n \n", 5);
    tap_number((long long)said.len, 0, "empty lines are passed over");

    char *line = malloc(20000);
    memset(line, 'x', 20000);
    static const char head[] = "{\"jsonrpc\":\"2.0\",\"params\":{\"id\":1,\"a\":\"";
    memcpy(line, head, sizeof(head) - 1);
    memcpy(line + 19970, "\"},\"id\":77}", 12);
    refuses(line, JSONRPC_INVALID_REQUEST, "77", "a line that is too long, with its id at the end");
    memset(line, 'x', 20000);
    line[19999] = '\0';
    refuses(line, JSONRPC_INVALID_REQUEST, "null", "a line that is too long and no message");
    free(line);
    answers("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}", "{}",
            "and the next one is heard");
}

static void skim(const char *text, const char *id, const char *name)
{
    struct line_skim s = {0};
    line_skim_bytes(&s, text, strlen(text));
    const char *found = line_skim_id(&s);
    tap_text(found ? found : "-", id, name);
}

static void test_skim(void)
{
    skim("{\"id\":5,\"a\":[{\"id\":6}]}", "5", "an id before a nested one");
    skim("{\"a\":{\"id\":6},\"id\" : \"x y\"}", "\"x y\"", "an id behind a nested one");
    skim("{\"id\":5,\"id\":5}", "-", "two ids are none");
    skim("{\"a\":\"\\\"id\\\":5\"}", "-", "an id in a text is none");
    skim("{\"id\":5.5}", "-", "a fraction is none");
    skim("{\"id\":{\"x\":1}}", "-", "an object is none");
    skim("{\"id\":5", "-", "half a message has none");
    skim("[{\"id\":5}]", "-", "a batch has none");
    skim("{\"id\":\"a\\u0062\"}", "-", "an id that would have to be understood is none");
    skim("{\"x\":1}{\"id\":5}", "-", "a second value spoils it");
}

/* --- messages -----------------------------------------------------------------------------------
 */

static void test_messages(void)
{
    start(true);
    refuses("garbage", JSONRPC_PARSE_ERROR, "null", "garbage");
    refuses("{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"ping\"", JSONRPC_PARSE_ERROR, "null",
            "half a message");
    refuses("{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"ping\",\"method\":\"x\"}",
            JSONRPC_PARSE_ERROR, "3", "a key twice");
    refuses("{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"p\xff\"}", JSONRPC_PARSE_ERROR, "3",
            "bytes that are not UTF-8");
    refuses("\"text\"", JSONRPC_INVALID_REQUEST, "null", "a text");
    refuses("{\"id\":3,\"method\":\"ping\"}", JSONRPC_INVALID_REQUEST, "3",
            "no version of JSON-RPC");
    refuses("{\"jsonrpc\":\"2.0\",\"id\":3.5,\"method\":\"ping\"}", JSONRPC_INVALID_REQUEST, "null",
            "a fraction as id");
    refuses("{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}", JSONRPC_INVALID_REQUEST,
            "null", "null as id");
    refuses("{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":7}", JSONRPC_INVALID_REQUEST, "3",
            "a number as method");
    refuses("{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"ping\",\"params\":[1]}",
            JSONRPC_INVALID_PARAMS, "3", "a list as params");
    refuses("{\"jsonrpc\":\"2.0\",\"id\":3}", JSONRPC_INVALID_REQUEST, "3",
            "neither method nor result");
    refuses("{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"x\",\"result\":{}}",
            JSONRPC_INVALID_REQUEST, "3", "both of them");
    char deep[1024] = "{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"ping\",\"params\":{\"a\":";
    size_t len = strlen(deep);
    memset(deep + len, '[', 70);
    memset(deep + len + 70, ']', 70);
    memcpy(deep + len + 140, "}}", 3);
    refuses(deep, JSONRPC_PARSE_ERROR, "4", "too deep");
    refuses("[{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"ping\"}]", JSONRPC_INVALID_REQUEST, "null",
            "a batch, before a revision is known that has them");
    buf_clear(&said);
    feed("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/whatever\"}");
    feed("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/"
         "cancelled\",\"params\":{\"requestId\":9}}");
    feed("{\"jsonrpc\":\"2.0\",\"id\":\"nacre-1\",\"result\":{\"action\":\"accept\"}}");
    feed("{\"jsonrpc\":\"2.0\",\"id\":5,\"error\":{\"code\":1,\"message\":\"x\"}}");
    tap_number((long long)said.len, 0,
               "notifications and answers that mean nothing are passed over");
    answers("{\"jsonrpc\":\"2.0\",\"id\":9007199254740993,\"method\":\"ping\"}",
            "\"id\":9007199254740993,", "a long integer is echoed exactly");
    answers("{\"jsonrpc\":\"2.0\",\"id\":\"\\u00e9\\u202e\\\"\",\"method\":\"ping\"}",
            "\"id\":\"\\u00E9\\u202E\\\"\",", "and so is a text");
}

/* --- eras ---------------------------------------------------------------------------------------
 */

static void test_legacy(void)
{
    start(true);
    refuses("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}", JSONRPC_INVALID_REQUEST,
            "1", "nothing before initialize");
    answers(INITIALIZE("2025-06-18"), "\"protocolVersion\":\"2025-06-18\"", "a known revision");
    tap_check(server->client_elicits, "the client can be asked");
    refuses(INITIALIZE("2025-06-18"), JSONRPC_INVALID_REQUEST, "0", "no second initialize");
    answers("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}", "run_command", "tools");
    refuses(
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{\"cursor\":\"x\"}}",
        JSONRPC_INVALID_PARAMS, "1", "a page that nobody was told of");
    refuses("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"nope\"}", JSONRPC_NO_METHOD, "1",
            "an unknown method");
    refuses("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"x\"}}",
            JSONRPC_INVALID_PARAMS, "1", "an unknown tool");
    refuses("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":5}}",
            JSONRPC_INVALID_PARAMS, "1", "a tool whose name is no text");
    refuses("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"server/discover\"}", JSONRPC_INVALID_PARAMS,
            "1", "discover without its _meta");
    answers("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":"
            "\"run_command\",\"arguments\":{}}}",
            "\"called\":\"run_command\"", "a tool");
    refuses("[]", JSONRPC_INVALID_REQUEST, "null", "no batches in this revision");
    start(true);
    answers(INITIALIZE("1999-01-01"), "\"protocolVersion\":\"2025-11-25\"",
            "the newest for one that is not known");
    start(true);
    answers(INITIALIZE("2025-03-26"), "\"protocolVersion\":\"2025-03-26\"", "the oldest");
    tap_check(!server->client_elicits, "which had no questions");
    buf_clear(&said);
    feed("[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"},{\"jsonrpc\":\"2.0\",\"id\":2,"
         "\"method\":\"ping\"},7]");
    tap_text(said.data,
             "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n"
             "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}\n"
             "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32600,\"message\":\"a message "
             "is an object\"}}\n",
             "but batches");
}

static void test_modern(void)
{
    start(true);
    answers("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"server/discover\",\"params\":{" META "}}",
            "\"supportedVersions\":[\"2026-07-28\"]", "discover");
    answers("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{" META "}}",
            "\"resultType\":\"complete\"", "tools without initialize");
    answers("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/"
            "call\",\"params\":{\"name\":\"undo\"," META "}}",
            "\"resultType\":\"complete\"", "a tool");
    refuses("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{" META "}}",
            JSONRPC_NO_METHOD, "1", "no ping");
    refuses("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{" META "}}",
            JSONRPC_NO_METHOD, "1", "no initialize");
    refuses("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{\"_meta\":{"
            "\"io.modelcontextprotocol/protocolVersion\":\"2099-01-01\"}}}",
            MCP_UNSUPPORTED_VERSION, "1", "another revision");
    refuses("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{\"_meta\":{"
            "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"}}}",
            JSONRPC_INVALID_PARAMS, "1", "no capabilities");
    refuses("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{\"_meta\":{"
            "\"progressToken\":{}}}}",
            JSONRPC_INVALID_PARAMS, "1", "a token that is none");
    answers(INITIALIZE("2025-11-25"), "\"protocolVersion\"", "and the other era beside it");
}

/* --- tools --------------------------------------------------------------------------------------
 */

static void wrong(const char *tool, const char *arguments, const char *argument, const char *name)
{
    char line[2048];
    snprintf(line, sizeof(line),
             "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"%s\","
             "\"arguments\":%s,%s}}",
             tool, arguments, META);
    json_t *value = answer(line), *result = json_object_get(value, "result");
    const json_t *structured = json_object_get(result, "structuredContent");
    const char *found = json_string_value(json_object_get(structured, "argument"));
    tap_check(json_is_true(json_object_get(result, "isError")) && found &&
                  strcmp(found, argument) == 0 && strstr(said.data, "\"text\":\"error: "),
              "%s", name);
    json_decref(value);
}

static void test_arguments(void)
{
    start(false);
    wrong("run_command", "{}", "command", "an argument that is missing");
    wrong("run_command", "{\"command\":7}", "command", "one of another type");
    wrong("run_command", "{\"command\":\"true\",\"comand\":1}", "comand", "one that is not known");
    wrong("run_command", "{\"command\":\"true\",\"a\\u202eb\":1}", "a\\u{202e}b",
          "one that is not known, escaped");
    wrong("run_command", "{\"command\":\"true\",\"timeout_ms\":-1}", "timeout_ms",
          "less than none");
    wrong("run_command", "{\"command\":\"true\",\"timeout_ms\":1.5}", "timeout_ms", "a fraction");
    wrong("run_command", "{\"command\":\"true\",\"timeout_ms\":99999999}", "timeout_ms",
          "too much");
    wrong("run_command", "{\"command\":\"true\",\"background\":\"yes\"}", "background",
          "a text for a flag");
    wrong("run_command", "{\"command\":\"true\",\"cwd\":\"a\\u0000b\"}", "cwd", "a NUL in a name");
    wrong("command_status", "{\"id\":\"01234567\"}", "id", "a command that is not there");
    wrong("command_kill", "{\"id\":\"\"}", "id", "an id that is empty");
    wrong("undo", "{\"id\":\"01234567\"}", "id", "a run that is not there");
    wrong("history", "{\"since\":\"yesterday\"}", "since", "a time that is none");
}

/* --- what is shown ------------------------------------------------------------------------------
 */

static void shows(const char *text, size_t limit, enum mcp_keep keep, const char *should,
                  const char *name)
{
    const struct mcp_showing s = {.limit = limit, .keep = keep};
    struct buf out;
    buf_init(&out, &allocator_libc, 1 << 20);
    mcp_show_text(&s, text, strlen(text), &out);
    tap_text(out.data, should, name);
    buf_release(&out);
}

static void test_showing(void)
{
    shows("a\x1b[31mb", 100, MCP_KEEP_HEAD, "a\\x1b[31mb", "escaped");
    shows("abcdef", 6, MCP_KEEP_BOTH, "abcdef", "what fits is whole");
    shows("abcdefgh", 6, MCP_KEEP_BOTH, "abc\n[... 2 characters left out ...]\nfgh", "both ends");
    shows("abcdefgh", 6, MCP_KEEP_HEAD, "abcdef\n[... 2 characters left out ...]\n", "the head");
    shows("abcdefgh", 6, MCP_KEEP_TAIL, "\n[... 2 characters left out ...]\ncdefgh", "the tail");
    shows("\xc3\xa4\xc3\xb6\xc3\xbc", 2, MCP_KEEP_HEAD,
          "\xc3\xa4\xc3\xb6\n[... 1 characters left out ...]\n", "characters are counted");

    struct mcp_call call = {.arguments = json_object()};
    json_t *verdict = json_pack("{s:[{s:s}]}", "reasons", "reason", "it is\nnot on the list");
    struct buf out;
    char many[8000] = "";
    buf_init(&out, &allocator_libc, 1 << 20);
    static const char padded[] = "true                                     # \xe2\x80\xae x\nrm y";
    json_object_set_new(call.arguments, "command", json_string(padded));
    json_object_set_new(call.arguments, "cwd", json_string("a\nb"));
    json_object_set_new(call.arguments, "stdin", json_string("in\x1b"));
    tap_check(mcp_question_text(&call, verdict, &out), "a question");
    tap_text(out.data,
             "An agent asks to run this command:\n\n    true[37 blanks]# \\u{202e} x\n    rm y\n"
             "    (1 of its characters cannot be seen, and are escapes above)\n\n"
             "with this standard input:\n\n    in\\x1b\n"
             "    (1 of its characters cannot be seen, and are escapes above)\n\n"
             "in the directory:\n\n    a\n    b\n\n"
             "because: it is\\nnot on the list\n",
             "shows everything");
    buf_clear(&out);
    json_object_set_new(call.arguments, "command", json_string("p\xd1\x83thon3\t\\t\xe3\x80\x80x"));
    json_object_del(call.arguments, "cwd");
    json_object_del(call.arguments, "stdin");
    tap_check(mcp_question_text(&call, verdict, &out), "one with letters of others");
    tap_text(out.data,
             "An agent asks to run this command:\n\n    p\xd1\x83thon3\\t\\t\\u{3000}x\n"
             "    (2 of its characters cannot be seen, and are escapes above)\n"
             "    (1 of its characters are not ASCII, and may look like others)\n\n"
             "because: it is\\nnot on the list\n",
             "says so, and how much of it is an escape");
    json_object_set_new(call.arguments, "command", json_string("true"));
    memset(many, '/', 4001);
    many[4001] = '\0';
    json_object_set_new(call.arguments, "cwd", json_string(many));
    tap_check(!mcp_question_text(&call, verdict, &out), "a directory is shown whole, or not asked");
    json_object_del(call.arguments, "cwd");
    memset(many, 0, sizeof(many));
    memset(many, '\n', 100);
    json_object_set_new(call.arguments, "stdin", json_string(many));
    tap_check(!mcp_question_text(&call, verdict, &out), "many lines of input are not asked");
    json_object_del(call.arguments, "stdin");
    tap_check(mcp_question_text(&call, verdict, &out), "without them it is");
    json_object_set_new(call.arguments, "command", json_string(many));
    tap_check(!mcp_question_text(&call, verdict, &out), "many lines are not asked");
    memset(many, 'x', sizeof(many) - 1);
    json_object_set_new(call.arguments, "command", json_string(many));
    tap_check(!mcp_question_text(&call, verdict, &out), "nor a long one");
    json_decref(call.arguments);
    buf_release(&out);
    json_decref(verdict);
}

/* --- the state of a question ---------------------------------------------------------------------
 */

static void test_states(void)
{
    struct mcp_states *a = malloc(sizeof(*a)), *b = malloc(sizeof(*b));
    unsigned char call[SHA256_BYTES] = {1}, other[SHA256_BYTES] = {2};
    char text[MCP_STATE_TEXT + 1], changed[MCP_STATE_TEXT + 1];
    if (!a || !b || mcp_states_init(a) < 0 || mcp_states_init(b) < 0)
        exit(1);
    mcp_state_new(a, call, 1000, text);
    tap_check(!mcp_state_use(a, text, MCP_STATE_TEXT, other, 1), "not for another call");
    tap_check(!mcp_state_use(b, text, MCP_STATE_TEXT, call, 1), "not with another server");
    bool forged = false;
    for (size_t i = 0; i < MCP_STATE_TEXT; i++) {
        memcpy(changed, text, sizeof(changed));
        changed[i] = changed[i] == 'A' ? 'B' : 'A';
        forged |= mcp_state_use(a, changed, MCP_STATE_TEXT, call, 1);
    }
    tap_check(!forged, "not with any character changed");
    tap_check(!mcp_state_use(a, text, MCP_STATE_TEXT - 4, call, 1), "not cut");
    tap_check(mcp_state_use(a, text, MCP_STATE_TEXT, call, 1), "as it was given");
    tap_check(!mcp_state_use(a, text, MCP_STATE_TEXT, call, 1), "but once");
    mcp_state_new(a, call, 1000, text);
    tap_check(!mcp_state_use(a, text, MCP_STATE_TEXT, call, 1000), "not too late");
    mcp_state_new(a, call, 1000, text);
    for (size_t i = 0; i < MCP_STATES_MAX; i++)
        mcp_state_new(a, call, 1000, changed);
    tap_check(!mcp_state_use(a, text, MCP_STATE_TEXT, call, 1), "not one of too many");
    free(a);
    free(b);
}

int main(void)
{
    char place[] = "/tmp/nacre-mcp-test.XXXXXX";
    char state[64];
    nacre_error error;
    if (!mkdtemp(place) || nacre_open(NULL, &handle, &error) < 0)
        return 1;
    snprintf(state, sizeof(state), "%s/state", place);
    run.workspace = place;
    run.state_dir = state;
    buf_init(&said, &allocator_libc, 64 << 20);
    test_lines();
    test_skim();
    test_messages();
    test_legacy();
    test_modern();
    test_arguments();
    test_showing();
    test_states();
    mcp_free(server);
    nacre_close(handle);
    buf_release(&said);
    rmdir(state);
    rmdir(place);
    return tap_done();
}

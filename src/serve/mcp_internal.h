/* What the files of the MCP server share; see mcp.h. */
#ifndef NACRE_SERVE_MCP_INTERNAL_H
#define NACRE_SERVE_MCP_INTERNAL_H

#include <jansson.h>
#include <pthread.h>

#include "base/json.h"
#include "history/history.h"
#include "jobs/ring.h"
#include "serve/jsonrpc.h"
#include "serve/line.h"
#include "serve/mcp.h"
#include "serve/mcp_state.h"
#include "serve/past.h"

/* Besides the codes of JSON-RPC. */
enum { MCP_BUSY = -32000, MCP_UNSUPPORTED_VERSION = -32022 };

enum { MCP_TOKEN_MAX = 512 };

/* --- answers: mcp_reply.c -------------------------------------------------------------------- */

enum mcp_era { MCP_ERA_NONE, MCP_ERA_LEGACY, MCP_ERA_MODERN };

enum { MCP_REASON_MAX = JSONRPC_REASON_MAX };

/* Begins the object of a result with what its era wants in it; `cacheable`: it may be kept. */
void mcp_result_begin(struct json *j, struct jsonrpc_reply *r, const struct mcp_call *call,
                      bool cacheable);
void mcp_result_end(struct json *j, struct jsonrpc_reply *r);

/* What a tool says: text and object, each of which stands alone. */
struct mcp_said {
    struct buf text;
    struct buf structured; /* JSON of an object */
    bool is_error;
};

void mcp_said_init(struct mcp_said *s);
void mcp_said_release(struct mcp_said *s);
/* An error of the tool's; `key` is the argument that is meant, or NULL. */
void mcp_said_error(struct mcp_said *s, const char *key, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void mcp_reply_said(struct jsonrpc_reply *r, const struct mcp_call *call,
                    const struct mcp_said *said);

/* A line to the client. */
void mcp_send_reply(struct mcp *m, const char *id, const struct jsonrpc_reply *r);
void mcp_send_error(struct mcp *m, const char *id, int code, const char *message);
/* The same without sending it. */
void mcp_append_reply(struct buf *out, const char *id, const struct jsonrpc_reply *r);
void mcp_send_line(struct mcp *m, struct buf *line); /* without its newline; releases it */

/* --- what is shown: mcp_show.c --------------------------------------------------------------- */

enum { MCP_SHOWN_MAX = 64 << 20, MCP_ITEMS_MAX = 200 };

enum mcp_keep { MCP_KEEP_HEAD, MCP_KEEP_TAIL, MCP_KEEP_BOTH };

struct mcp_showing {
    size_t limit; /* characters of one text; 0: all */
    enum mcp_keep keep;
    bool decides; /* somebody decides by it: blanks that are not ASCII are escaped, too */
};

/* Appends the text escaped and cut; true: it was cut. */
bool mcp_show_text(const struct mcp_showing *s, const char *bytes, size_t len, struct buf *out);
/* The same on one line. */
void mcp_show_line(const char *bytes, size_t len, size_t limit, struct buf *out);
/* A value with every text in it escaped and cut, and lists that are too long cut. */
void mcp_show_json(const struct mcp_showing *s, const json_t *value, struct json *out);
/* JSON text, shown likewise; 0 or -EBADMSG. */
int mcp_show_json_text(const struct mcp_showing *s, const char *text, size_t len, struct buf *out);

/* --- calls: mcp_calls.c ---------------------------------------------------------------------- */

enum { MCP_QUEUE_MAX = 4096, MCP_QUEUE_BYTES_MAX = 64 << 20, MCP_HANDLES_MAX = 64 };

struct mcp_method;
struct mcp_tool;
struct mcp_run;

enum mcp_call_state { MCP_QUEUED, MCP_RUNNING };

struct mcp_call {
    struct mcp *m;
    struct mcp_call *next;
    enum mcp_call_state state;
    bool answered, cancelled;
    bool detached; /* answered, and not counted among those that are worked on */
    enum mcp_era era;
    bool elicits; /* the client can be asked */
    bool alone;   /* called by a tool with one argument, and without those that go on from it */
    char id[JSONRPC_ID_MAX];
    char token[MCP_TOKEN_MAX]; /* of progress, as JSON; empty: none */
    const struct mcp_method *method;
    const struct mcp_tool *tool; /* of tools/call */
    json_t *message;             /* whole; params are in it */
    json_t *params, *arguments;  /* NULL: none */
    struct jsonrpc_reply
        *reply;   /* of a tool that answers in another way than by saying something, */
    bool replied; /* and then this */
    size_t bytes; /* of the message */
    uint64_t begun_ms, progressed_ms;
    int cancel_fd; /* -1: it cannot be cancelled once it is worked on */
    struct mcp_run *run;
};

struct mcp_question;

struct mcp {
    struct mcp_options options;
    nacre *handle;
    struct line line;

    enum mcp_era era; /* legacy: it was initialized */
    const char *version;
    bool client_elicits; /* legacy */

    pthread_mutex_t out_lock;
    pthread_mutex_t lock;   /* all below */
    pthread_cond_t changed; /* a run goes on, an answer came, a thread ended */
    pthread_cond_t work;
    bool ends;
    struct mcp_call *calls; /* queued and worked on, oldest first */
    size_t queued, queued_bytes;
    size_t active, threads, idle; /* worked on; threads, and those that wait for work */
    struct mcp_run *runs;         /* that have a handle, the newest first */
    struct mcp_question *questions;
    uint64_t asked; /* questions so far */
    struct mcp_states states;
    struct mcp_showing showing; /* as the last run's policy has it */
};

/* Takes the call over and has it done, now or later. `message` is its own reference. */
void mcp_call_begin(struct mcp *m, struct mcp_call *call);
/* A request in flight; with the lock. */
struct mcp_call *mcp_call_find(struct mcp *m, const char *id);
void mcp_call_cancel(struct mcp *m, const char *id);
bool mcp_is_cancelled(struct mcp_call *call);
void mcp_call_free(struct mcp_call *call); /* with the lock, if it has a run */
/* It was answered and goes on, beside those that are worked on; with the lock. */
void mcp_call_detach(struct mcp_call *call);
/* Progress, and runs that take longer than the client waits. */
int mcp_calls_tick(struct mcp *m);
void mcp_calls_end(struct mcp *m);

/* --- dispatch: mcp_dispatch.c ---------------------------------------------------------------- */

enum mcp_when {
    MCP_WHEN_FIRST = 1 << 0,  /* legacy, before initialize */
    MCP_WHEN_LEGACY = 1 << 1, /* legacy, after it */
    MCP_WHEN_MODERN = 1 << 2,
};

struct mcp_method {
    const char *name;
    unsigned when;
    bool works; /* takes a while: done by a worker */
    void (*answer)(struct mcp_call *call, struct jsonrpc_reply *reply);
};

/* Takes the value over. */
void mcp_dispatch(struct mcp *m, json_t *value, size_t bytes);
extern const char *const mcp_modern_version;

/* --- tools: mcp_tools.c ---------------------------------------------------------------------- */

enum mcp_type { MCP_TEXT, MCP_COUNT, MCP_BOOL, MCP_LIST, MCP_MAP };

struct mcp_argument {
    const char *name;
    enum mcp_type type;
    bool required;
    int64_t max; /* of a count, or of the bytes of a text, or of the texts of a list */
    const char *description;
};

/* A field of what comes back. */
struct mcp_field {
    const char *name;
    enum mcp_type type;
};

struct mcp_tool {
    const char *name, *title, *description;
    const char *needs; /* name in the policy's `tools` that gives it */
    bool reads_only, destructive, idempotent;
    const struct mcp_argument *arguments; /* ends with a null name */
    const struct mcp_field *output;       /* likewise */
    void (*run)(struct mcp_call *call, struct mcp_said *said);
};

extern const struct mcp_tool mcp_tools[]; /* ends with a null name */

void mcp_tools_list(struct mcp_call *call, struct jsonrpc_reply *reply);
void mcp_tools_call(struct mcp_call *call, struct jsonrpc_reply *reply);
/* What the policy calls one of our tools; NULL: it does not give it. */
const char *mcp_tool_name(const struct policy *policy, const char *name);
/* Finds the tool of the call before it is worked on; false: `reply` says why not. */
bool mcp_tools_resolve(struct mcp_call *call, struct jsonrpc_reply *reply);

/* Arguments that were checked: NULL or 0 where there is none. */
const char *mcp_text(const struct mcp_call *call, const char *name, size_t *ret_len);
uint64_t mcp_count(const struct mcp_call *call, const char *name, uint64_t otherwise);
bool mcp_flag(const struct mcp_call *call, const char *name);

/* --- the policy and the place: past.h -------------------------------------------------------- */

static inline int mcp_place_open(struct mcp *m, struct past_place *ret, struct err *e)
{
    return past_place_open(m->handle, m->options.run, ret, e);
}
struct mcp_showing mcp_showing_of(const struct policy *policy); /* mcp_show.c */

/* --- tools that run: mcp_run.c --------------------------------------------------------------- */

/* A run that may outlive its call. */
struct mcp_run {
    struct mcp_run *next;
    unsigned users;
    bool listed; /* it has a handle, and is in the list */
    char handle[UUID_TEXT + 1], id[UUID_TEXT + 1], pending[UUID_TEXT + 1]; /* empty: not known */
    struct ring output;
    struct ring_reader read;
    uint64_t bytes; /* printed so far */
    int cancel_fd, input_fd;
    bool background, began, over;
    bool asking; /* a question is open: it is not detached */
    uint64_t begun_ms;
    struct mcp_said said; /* when it is over */
};

void mcp_run_command(struct mcp_call *call, struct mcp_said *said);
void mcp_run_script(struct mcp_call *call, struct mcp_said *said);
void mcp_command_status(struct mcp_call *call, struct mcp_said *said);
void mcp_command_input(struct mcp_call *call, struct mcp_said *said);
void mcp_command_kill(struct mcp_call *call, struct mcp_said *said);
void mcp_test_command(struct mcp_call *call, struct mcp_said *said);
void mcp_run_release(struct mcp_run *run); /* with the lock */
/* Gives it a handle and says so; with the lock. */
void mcp_run_detach(struct mcp *m, struct mcp_run *run, struct mcp_said *said);
/* The result of a run, as it is said. */
void mcp_say_result(const nacre_result *r, const struct mcp_showing *showing, const char *pending,
                    struct mcp_said *said);

void mcp_say_running(struct mcp *m, struct mcp_run *run, struct mcp_said *said); /* with the lock */

/* --- questions: mcp_ask.c -------------------------------------------------------------------- */

/* Whether the client can be asked about this call. */
bool mcp_can_ask(const struct mcp_call *call);
/* What a question shows; false: it is too long to be shown whole, and is not asked here. */
bool mcp_question_text(const struct mcp_call *call, const json_t *verdict, struct buf *out);
/* Anything but a yes: somebody else is to be asked. */
enum { MCP_YES = 1, MCP_NO_ANSWER = -1 };
/* Asks a legacy client and waits. */
int mcp_ask(struct mcp_call *call, const char *text);
/* An answer came. */
void mcp_answered(struct mcp *m, const struct jsonrpc_message *message);

/*
 * Asks a modern client: the call's reply is the question, and the call comes again with the answer.
 * With that it says what the client said, or the reply says why it does not count.
 */
int mcp_ask_by_result(struct mcp_call *call, const json_t *verdict);

/* --- tools that look back: mcp_kept.c, mcp_turn.c -------------------------------------------- */

void mcp_history(struct mcp_call *call, struct mcp_said *said);
void mcp_diff(struct mcp_call *call, struct mcp_said *said);
void mcp_undo(struct mcp_call *call, struct mcp_said *said);
void mcp_commit(struct mcp_call *call, struct mcp_said *said);
void mcp_discard(struct mcp_call *call, struct mcp_said *said);

static inline int mcp_record_open(struct mcp *m, const char *id, struct past_record *ret,
                                  struct err *e)
{
    return past_record_open(m->handle, m->options.run, id, ret, e);
}

/* --- the rest: mcp_resources.c, mcp_prompts.c, mcp_complete.c --------------------------------- */

void mcp_resources_list(struct mcp_call *call, struct jsonrpc_reply *reply);
void mcp_resources_templates(struct mcp_call *call, struct jsonrpc_reply *reply);
void mcp_resources_read(struct mcp_call *call, struct jsonrpc_reply *reply);
void mcp_prompts_list(struct mcp_call *call, struct jsonrpc_reply *reply);
void mcp_prompts_get(struct mcp_call *call, struct jsonrpc_reply *reply);
void mcp_complete(struct mcp_call *call, struct jsonrpc_reply *reply);
bool mcp_prompt_has(const char *name, const char *argument);
/* What the shell can do here, for a model. */
void mcp_instructions(struct mcp *m, struct buf *out);

#endif

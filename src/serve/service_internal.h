/* What the files of a session share; see service.h. */
#ifndef NACRE_SERVE_SERVICE_INTERNAL_H
#define NACRE_SERVE_SERVICE_INTERNAL_H

#include <stdatomic.h>

#include "base/json.h"
#include "serve/past.h"
#include "serve/service.h"

struct service {
    struct service_options options;
    nacre *handle;
    nacre_run_options run; /* the options', with the mandate */
    bool in_memory;
    int cancel_fd;
    atomic_bool ends;
    struct cached_policy *policy; /* of the last run; NULL */

    struct {
        struct arena arena; /* of the lists */
        nacre_mandate lists;
        bool final;
    } mandate;

    char (*runs)[UUID_TEXT + 1]; /* of this session, oldest first: see service_remember */
    size_t run_count, run_room;
    bool runs_dropped;
};

/* --- parameters: service.c ------------------------------------------------------------------- */

enum service_type {
    SERVICE_TEXT,
    SERVICE_BYTES,
    SERVICE_COUNT,
    SERVICE_BOOL,
    SERVICE_LIST,
    SERVICE_MAP
};

struct service_parameter {
    const char *name;
    enum service_type type;
    bool required;
    int64_t max; /* of a count, or of the bytes of a text */
};

struct service_method {
    const char *name;
    const struct service_parameter *parameters; /* ends with a null name */
    void (*answer)(struct service *s, const json_t *params, struct jsonrpc_reply *reply);
};

const char *service_text(const json_t *params, const char *name, size_t *ret_len);
uint64_t service_count(const json_t *params, const char *name, uint64_t otherwise);
bool service_flag(const json_t *params, const char *name);
/* The texts of a list, ends with NULL, in the arena; NULL: there is none, or no memory. */
const char *const *service_list(struct arena *arena, const json_t *params, const char *name);
/* Of a parameter of a method; SERVICE_TEXT where there is none. */
enum service_type service_type_of(const char *method, const char *name);
/* A wrong parameter: which, and why. */
void service_wrong(struct jsonrpc_reply *reply, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* --- the session itself ---------------------------------------------------------------------- */

int service_open(struct service *s, struct err *e); /* a handle */
void service_close(struct service *s);
/* A run that is to be found again: by `reset` what it changed, in memory by `history`. */
void service_remember(struct service *s, const nacre_result *r);
bool service_is_own(const struct service *s, const char *id);
int service_fs_hash(struct service *s, char ret_hex[SHA256_HEX + 1], struct err *e);

/* --- methods --------------------------------------------------------------------------------- */

void service_configure(struct service *s, const json_t *params, struct jsonrpc_reply *reply);
void service_exec(struct service *s, const json_t *params, struct jsonrpc_reply *reply);
void service_script(struct service *s, const json_t *params, struct jsonrpc_reply *reply);
void service_test(struct service *s, const json_t *params, struct jsonrpc_reply *reply);
void service_history(struct service *s, const json_t *params, struct jsonrpc_reply *reply);
void service_diff(struct service *s, const json_t *params, struct jsonrpc_reply *reply);
void service_undo(struct service *s, const json_t *params, struct jsonrpc_reply *reply);
void service_commit(struct service *s, const json_t *params, struct jsonrpc_reply *reply);
void service_discard(struct service *s, const json_t *params, struct jsonrpc_reply *reply);
void service_verify(struct service *s, const json_t *params, struct jsonrpc_reply *reply);
void service_hash(struct service *s, const json_t *params, struct jsonrpc_reply *reply);
void service_reset(struct service *s, const json_t *params, struct jsonrpc_reply *reply);

#endif

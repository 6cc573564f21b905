/* Listening to what is started inside, and putting it down; see programs.h. */
#include "engine/programs.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "engine/engine.h"
#include "engine/files.h"

enum {
    PROGRAMS_MAX = 8192,          /* that are put down; the others are counted */
    PROGRAMS_BYTES_MAX = 2 << 20, /* of all their words */
    WORDS_BYTES_MAX = 4096,       /* of one's */
    WORDS_MAX = 256,
    LIST_ARENA_MAX = 16 << 20,
    JUDGING_ARENA_MAX = 64 << 20,
};

/* --- the list -------------------------------------------------------------------------------- */

static struct executed *grow(struct programs *p)
{
    if (p->count == p->capacity) {
        size_t wider = p->capacity ? 2 * p->capacity : 32;
        struct executed *items = arena_alloc_array(&p->arena, wider, sizeof(*items));
        if (!items)
            return NULL;
        if (p->count)
            memcpy(items, p->items, p->count * sizeof(*items));
        p->items = items;
        p->capacity = wider;
    }
    return &p->items[p->count];
}

/* Programs are put down in the order of their numbers, so that an end is found by its number. */
static void put_down(struct programs *p, const struct sandbox_program *program, bool granted)
{
    const char *const shell[] = {"bash", "-c", "--", p->waiting_for};
    struct sandbox_program first;
    if (++p->total == 1 && p->replaced)
        return;
    if (p->total == 1 && p->waiting_for) {
        first = *program;
        first.argv = shell;
        first.argc = sizeof(shell) / sizeof(shell[0]);
        program = &first;
    }
    if (p->count + p->replaced != p->total - 1 || p->count == PROGRAMS_MAX ||
        p->bytes > PROGRAMS_BYTES_MAX)
        return;
    size_t argc = program->argc < WORDS_MAX ? program->argc : WORDS_MAX, used = 0, n = 0;
    struct executed *item = grow(p);
    const char **argv = arena_alloc_array(&p->arena, argc + 1, sizeof(*argv));
    if (!item || !argv)
        return;
    for (; n < argc && used < WORDS_BYTES_MAX; n++) {
        size_t len = strlen(program->argv[n]);
        if (len > WORDS_BYTES_MAX - used)
            len = WORDS_BYTES_MAX - used;
        argv[n] = arena_copy(&p->arena, program->argv[n], len);
        if (!argv[n])
            return;
        used += len + 1;
    }
    *item = (struct executed){
        .argv = argv, .argc = n, .argc_total = program->argc, .exit_code = -1, .granted = granted};
    p->bytes += used;
    p->count++;
}

static void note_ends(struct programs *p, const struct sandbox_program *program)
{
    for (size_t i = 0; i < program->end_count; i++) {
        const struct wire_program_end *end = &program->ends[i];
        if (end->id <= p->replaced || end->id - p->replaced > p->count)
            continue;
        struct executed *item = &p->items[end->id - p->replaced - 1];
        if (WIFEXITED(end->status))
            item->exit_code = WEXITSTATUS(end->status);
        else if (WIFSIGNALED(end->status))
            item->exit_code = 128 + WTERMSIG(end->status);
    }
}

static bool is_same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static void note_stopped(struct programs *p, const struct stopped *stopped)
{
    for (size_t i = 0; i < p->stopped_count; i++) {
        if (is_same_text(p->stopped[i].name, stopped->name) &&
            is_same_text(p->stopped[i].rule, stopped->rule)) {
            p->stopped[i].times++;
            return;
        }
    }
    if (p->stopped_count == STOPPED_MAX) {
        p->stopped_more++;
        return;
    }
    const char *const from[] = {stopped->name, stopped->rule, stopped->key};
    const char *to[3];
    for (size_t i = 0; i < 3; i++) {
        to[i] = from[i] ? arena_copy(&p->arena, from[i], strlen(from[i])) : NULL;
        if (from[i] && !to[i])
            to[i] = "";
    }
    p->stopped[p->stopped_count++] =
        (struct stopped){.name = to[0], .rule = to[1], .key = to[2], .times = 1};
}

void programs_write_json(const struct programs *p, struct json *j)
{
    json_key(j, "executed");
    json_array_begin(j);
    for (size_t i = 0; i < p->count; i++) {
        const struct executed *item = &p->items[i];
        json_object_begin(j);
        json_key(j, "argv");
        json_array_begin(j);
        for (size_t k = 0; k < item->argc; k++)
            json_text(j, item->argv[k]);
        json_array_end(j);
        if (item->argc_total > item->argc) {
            json_key(j, "argv_total");
            json_unsigned(j, item->argc_total);
        }
        json_key(j, "exit_code");
        if (item->exit_code < 0)
            json_nothing(j);
        else
            json_signed(j, item->exit_code);
        json_object_end(j);
    }
    json_array_end(j);
    if (p->total > p->count + p->replaced) {
        json_key(j, "executed_total");
        json_unsigned(j, p->total - p->replaced);
    }
}

/* --- listening ------------------------------------------------------------------------------- */

static const char *search_path(const struct plan *plan)
{
    for (size_t i = 0; i < plan->count; i++) {
        if (plan->steps[i].kind == PLAN_ENV && strncmp(plan->steps[i].text, "PATH=", 5) == 0)
            return plan->steps[i].text + 5;
    }
    return "";
}

static bool add_interest(struct wire_interest *interest, const char *name)
{
    size_t len = strlen(name) + 1;
    if (len > sizeof(interest->names) - interest->names_len)
        return false;
    memcpy(interest->names + interest->names_len, name, len);
    interest->names_len += (uint32_t)len;
    return true;
}

/*
 * What programs_judge may have a rule for: the launcher lets the others by. Where any program may
 * be meant, nobody is let by.
 */
static void tell_interest(const struct programs *p, const struct files *files)
{
    const struct policy *policy = p->setting->decider.policy;
    struct wire_interest interest = {0};
    if (policy_has_mandate(policy) || judge_has_paths(p->setting->decider.judge) ||
        files->count > WIRE_INTEREST_SIZES)
        return;
    for (size_t i = 0; i < files->count; i++)
        interest.sizes[interest.size_count++] = (uint64_t)files->entries[i].size;
    const struct policy_patterns *const lists[] = {&policy->deny, &policy->confirm};
    for (size_t l = 0; l < 2; l++) {
        for (size_t i = 0; i < lists[l]->count; i++) {
            if (!lists[l]->items[i].lifted && !add_interest(&interest, lists[l]->items[i].words[0]))
                return;
        }
    }
    for (size_t i = 0; files_several(i); i++) {
        if (!add_interest(&interest, files_several(i)))
            return;
    }
    /* If it does not get there, all are asked for. */
    sandbox_tell_interest(p->socket, &interest);
}

/* What programs are judged by, and which of them it can be; both live as long as the listening. */
struct means {
    struct arena arena;
    struct files files;
    bool gathered;
};

static int gather(const struct programs *p, struct means *means)
{
    if (means->gathered || !p->judges)
        return 0;
    means->gathered = true;
    int r = files_open(&means->arena, p->setting->decider.policy, search_path(p->plan), p->memory,
                       p->setting->state_dir, &means->files);
    if (r == 0)
        tell_interest(p, &means->files);
    return r;
}

/* False: this is the end, or must be. */
static bool serve(struct programs *p, struct means *means, const struct allocator *allocator)
{
    struct arena arena;
    struct sandbox_program program;
    arena_init(&arena, allocator, JUDGING_ARENA_MAX);
    bool goes_on = sandbox_read_program(p->socket, &arena, &program) == 1;
    if (goes_on && program.waits && gather(p, means) < 0) {
        sandbox_release_program(&program);
        goes_on = false;
    }
    if (goes_on)
        note_ends(p, &program);
    if (goes_on && program.started) {
        struct stopped stopped = {0};
        bool granted = false;
        goes_on = program.id == (uint32_t)(p->total + 1);
        bool runs =
            goes_on && programs_judge(p, &means->files, &arena, &program, &stopped, &granted);
        int r = goes_on && program.waits ? sandbox_answer_program(p->socket, program.id, runs) : 0;
        goes_on =
            goes_on && (r == 0 || r == -EPIPE); /* it is over: the rest is read all the same */
        put_down(p, &program, granted);         /* it is on its way meanwhile */
        if (!runs && program.waits)
            note_stopped(p, &stopped);
        sandbox_release_program(&program);
    }
    arena_release(&arena);
    return goes_on;
}

static void *listen_to_all(void *user)
{
    struct programs *p = user;
    struct means means = {0};
    const struct allocator *allocator = p->arena.allocator;
    arena_init(&means.arena, allocator, LIST_ARENA_MAX);
    int r = p->expected ? gather(p, &means) : 0;
    while (r == 0 && serve(p, &means, allocator))
        ;
    /* Whoever still waits is killed: nobody will answer (X3). */
    shutdown(p->socket, SHUT_RDWR);
    files_close(&means.files);
    arena_release(&means.arena);
    return NULL;
}

int programs_begin(struct programs *p, const struct programs *how,
                   const struct allocator *allocator, struct err *e)
{
    programs_release(p);
    *p = *how;
    arena_init(&p->arena, allocator, LIST_ARENA_MAX);
    int r = crew_start(p->crew, &p->task, listen_to_all, p);
    return r < 0 ? err_errno(e, r, "cannot start a thread to judge programs") : 0;
}

void programs_end(struct programs *p)
{
    if (!p->task.started)
        return;
    shutdown(p->socket, SHUT_RDWR); /* what was told before is still read */
    crew_wait(p->crew, &p->task);
}

void programs_release(struct programs *p)
{
    programs_end(p);
    if (p->arena.allocator)
        arena_release(&p->arena);
    *p = (struct programs){.socket = -1};
}

/* Questions and answers: what they are bound to (A1), used once (A2), believed (A3, A4), late (A5).
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "approve/approve.h"
#include "base/fd.h"
#include "changes/beneath.h"
#include "tap.h"

enum { ARENA_MAX = 256 << 20 };

static char state[] = "/tmp/nacre-approve.XXXXXX";
static const struct question plain = {
    .id = "11111111-2222-4333-8444-555555555555",
    .asked_ms = 1000,
    .expires_ms = 601000,
    .text = "git  push\xff",
    .text_len = 10,
    .canonical = "git push",
    .canonical_len = 8,
    .workspace = "/w",
    .directory = "/w/d",
    .agent = "coder",
    .input = "none",
    .mandate_hash = "aa",
    .verdict = "{\"reasons\":[]}",
    .verdict_len = 14,
};

static struct question make(const char *id)
{
    struct question q = plain;
    if (id)
        memcpy(q.id, id, sizeof(q.id));
    question_bind(&q);
    return q;
}

static struct answer answer_to(const struct question *q, bool yes)
{
    struct answer a = {.yes = yes, .time_ms = 2000, .expires_ms = 602000, .by = "uid 1 (ada)"};
    memcpy(a.id, q->id, sizeof(a.id));
    memcpy(a.binding, q->binding, sizeof(a.binding));
    return a;
}

static void clean(void)
{
    char path[128];
    snprintf(path, sizeof(path), "%s/questions", state);
    beneath_remove(AT_FDCWD, path);
    snprintf(path, sizeof(path), "%s/approver", state);
    unlink(path);
}

static void put_file(const char *name, const char *bytes, size_t len, mode_t mode)
{
    char path[256];
    snprintf(path, sizeof(path), "%s/questions/%s", state, name);
    unlink(path);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || fd_write_all(fd, bytes, len) < 0 || fchmod(fd, mode) < 0)
        abort();
    close(fd);
}

static bool is_there(const char *name)
{
    char path[256];
    snprintf(path, sizeof(path), "%s/questions/%s", state, name);
    return access(path, F_OK) == 0;
}

/* --- A1 -------------------------------------------------------------------------------------- */

static void test_binding(struct arena *arena)
{
    const struct question q = make(NULL);
    struct question other;
    struct buf bytes;
    struct err e = {0};
    buf_init(&bytes, &allocator_libc, 1 << 20);
    tap_number(question_write(&q, &bytes, &e), 0, "a question is written");
    tap_number(question_read(arena, bytes.data, bytes.len, &other, &e), 0, "and read");
    tap_check(other.text_len == 10 && memcmp(other.text, q.text, 10) == 0, "byte for byte");
    tap_text(other.binding, q.binding, "with the same binding");
    tap_text(other.agent, "coder", "its agent");
    tap_check(!other.session && !other.waits && !other.key, "what was not there is not");
    struct question head;
    size_t first = bytes.len < QUESTION_HEAD_MAX ? bytes.len : QUESTION_HEAD_MAX;
    tap_number(question_read_head(bytes.data, first, &head), 0, "its head alone");
    tap_check(strcmp(head.binding, q.binding) == 0 && strcmp(head.id, q.id) == 0 &&
                  head.expires_ms == q.expires_ms && !head.text,
              "says what it is about");
    tap_number(question_read_head(bytes.data, 100, &head), -EBADMSG, "but not a part of it");

#define CHANGES(name, ...)                                                                         \
    do {                                                                                           \
        other = plain;                                                                             \
        __VA_ARGS__;                                                                               \
        question_bind(&other);                                                                     \
        tap_check(strcmp(other.binding, q.binding) != 0, "bound to the %s", name);                 \
    } while (0)
    CHANGES("text", other.canonical = "git pull");
    CHANGES("whole text", other.canonical_len = 7);
    CHANGES("policy", other.mandate_hash = "ab");
    CHANGES("workspace", other.workspace = "/v");
    CHANGES("directory", other.directory = "/w");
    CHANGES("agent", other.agent = "writer");
    CHANGES("lack of an agent", other.agent = NULL);
    CHANGES("agent's name, not to an empty one", other.agent = "");
    CHANGES("session", other.session = "s");
    CHANGES("input", other.input = "unknown");
    CHANGES("kind", other.kind = QUESTION_CHANGES);
    CHANGES("fields, not to their sum", other.workspace = "/w/", other.directory = "w/d");
    other = make("99999999-2222-4333-8444-555555555555");
    tap_text(other.binding, q.binding, "but not to who asks first");
    other.kind = QUESTION_CHANGES;
    question_bind(&other);
    struct question twin = q;
    twin.kind = QUESTION_CHANGES;
    question_bind(&twin);
    tap_check(strcmp(other.binding, twin.binding) != 0, "changes are those of one run");

    /* A3: any byte that is another one makes it another question, or none. */
    size_t believed = 0;
    for (size_t i = 0; i < bytes.len; i++) {
        char before = bytes.data[i];
        bytes.data[i] = before == '1' ? '2' : '1';
        if (question_read(arena, bytes.data, bytes.len, &other, NULL) == 0 &&
            (strcmp(other.binding, q.binding) != 0 || other.canonical_len != q.canonical_len ||
             memcmp(other.canonical, q.canonical, q.canonical_len) != 0 ||
             strcmp(other.workspace, q.workspace) != 0))
            believed++;
        bytes.data[i] = before;
        believed += question_read(arena, bytes.data, i, &other, NULL) == 0;
    }
    tap_number((long long)believed, 0, "no damaged question is believed");
    static const char *const bad[] = {"", "{}", "[]", "null", "{\"version\":2}", "\xff"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        tap_number(question_read(arena, bad[i], strlen(bad[i]), &other, NULL), -EBADMSG,
                   "no question");
        struct answer a;
        tap_number(answer_read(arena, bad[i], strlen(bad[i]), &a, NULL), -EBADMSG, "no answer");
    }
    struct question large = q;
    large.text_len = QUESTION_TEXT_MAX + 1;
    tap_number(question_write(&large, &bytes, &e), -E2BIG, "a text that nobody could read");
    buf_release(&bytes);
}

/* --- A2 -------------------------------------------------------------------------------------- */

static int take(struct arena *arena, const char *binding, const char *key, int64_t now)
{
    struct answer a;
    struct err e = {0};
    const struct approve_rules rules = {.key = key, .now_ms = now, .timeout_ms = 600000};
    int r = approve_take(arena, state, binding, &rules, &a, &e);
    return r == 1 && !a.yes ? 2 : r;
}

static void ask(const struct question *q)
{
    int lock;
    struct err e = {0};
    if (approve_ask(state, q, &lock, &e) < 0)
        tap_check(false, "asked: %s", e.message);
}

static void test_once(struct arena *arena)
{
    const struct question q = make(NULL);
    struct answer a = answer_to(&q, true);
    struct err e = {0};
    char id[UUID_TEXT + 1];
    clean();
    tap_number(take(arena, q.binding, NULL, 3000), 0, "no directory, no answer");
    ask(&q);
    tap_number(take(arena, q.binding, NULL, 3000), 0, "no answer yet");
    tap_number(approve_find_same(arena, state, q.binding, 3000, id, &e), 1, "it is open");
    tap_number(approve_find_same(arena, state, q.binding, 601000, id, &e), 0, "not for ever (A5)");
    tap_number(approve_say(state, &a, &e), 0, "answered");
    tap_number(approve_say(state, &a, &e), -EEXIST, "not twice");
    tap_number(approve_find_same(arena, state, q.binding, 3000, id, &e), 0, "not open any more");
    struct question other = q;
    other.directory = "/w";
    question_bind(&other);
    tap_number(take(arena, other.binding, NULL, 3000), 0, "not for another call (A1)");
    tap_number(take(arena, q.binding, NULL, 602000), 0, "not too late (A5)");
    tap_number(take(arena, q.binding, NULL, 3000), 1, "used");
    tap_number(take(arena, q.binding, NULL, 3000), 0, "once (A2)");
    tap_number(approve_say(state, &a, &e), -ENOENT, "and cannot be said again");

    /* Put back by somebody: it was used. */
    struct buf bytes;
    char name[64];
    buf_init(&bytes, &allocator_libc, 1 << 20);
    ask(&q);
    if (answer_write(&a, &bytes, &e) < 0)
        abort();
    snprintf(name, sizeof(name), "%s.answer", q.id);
    put_file(name, bytes.data, bytes.len, 0600);
    tap_number(take(arena, q.binding, NULL, 3000), 0, "a copy of it is not used again");
    buf_release(&bytes);

    clean();
    ask(&q);
    a.scope = ANSWER_JOB;
    approve_say(state, &a, &e);
    for (int i = 0; i < 2; i++)
        tap_number(take(arena, q.binding, NULL, 3000), 1, "for a job: often");
    tap_number(take(arena, q.binding, NULL, 602000), 0, "until it is over");
    clean();
    ask(&q);
    a.expires_ms = INT64_C(1) << 50;
    approve_say(state, &a, &e);
    tap_number(take(arena, q.binding, NULL, 601999), 1, "one that says that it lasts for ever");
    tap_number(take(arena, q.binding, NULL, 602000), 0, "lasts as long as the policy says (A5)");
    clean();
    ask(&q);
    a = answer_to(&q, false);
    a.reason = "no";
    approve_say(state, &a, &e);
    for (int i = 0; i < 2; i++)
        tap_number(take(arena, q.binding, NULL, 3000), 2, "a no stays one");
}

static void *race(void *binding)
{
    struct arena arena;
    arena_init(&arena, &allocator_libc, ARENA_MAX);
    int r = take(&arena, binding, NULL, 3000);
    arena_release(&arena);
    return (void *)(intptr_t)r;
}

static void test_race(void)
{
    enum { THREADS = 8, ROUNDS = 20 };
    struct question q = make(NULL);
    struct err e = {0};
    size_t wrong = 0;
    for (int round = 0; round < ROUNDS; round++) {
        pthread_t threads[THREADS];
        struct answer a = answer_to(&q, true);
        clean();
        ask(&q);
        approve_say(state, &a, &e);
        intptr_t used = 0;
        for (int i = 0; i < THREADS; i++)
            pthread_create(&threads[i], NULL, race, q.binding);
        for (int i = 0; i < THREADS; i++) {
            void *one;
            pthread_join(threads[i], &one);
            used += (intptr_t)one;
        }
        wrong += used != 1;
    }
    tap_number((long long)wrong, 0, "eight that race for it: one has it, every time (A2)");
}

/* --- A3 -------------------------------------------------------------------------------------- */

static void test_forged(struct arena *arena)
{
    const struct question q = make(NULL);
    struct answer a = answer_to(&q, true);
    struct buf bytes;
    struct err e = {0};
    char name[64], path[256], elsewhere[256];
    buf_init(&bytes, &allocator_libc, 1 << 20);
    if (answer_write(&a, &bytes, &e) < 0)
        abort();
    snprintf(name, sizeof(name), "%s.answer", q.id);
    snprintf(path, sizeof(path), "%s/questions/%s", state, name);
    snprintf(elsewhere, sizeof(elsewhere), "%s/elsewhere", state);
    clean();
    ask(&q);
    put_file(name, bytes.data, bytes.len, 0644);
    tap_number(take(arena, q.binding, NULL, 3000), 0, "an answer that others can read is none");
    put_file(name, bytes.data, bytes.len / 2, 0600);
    tap_number(take(arena, q.binding, NULL, 3000), 0, "nor half of one");
    unlink(path);
    put_file("../elsewhere", bytes.data, bytes.len, 0600);
    if (symlink(elsewhere, path) < 0)
        abort();
    tap_number(take(arena, q.binding, NULL, 3000), 0, "nor a link to one");
    unlink(path);
    if (mkfifo(path, 0600) < 0)
        abort();
    tap_number(take(arena, q.binding, NULL, 3000), 0, "nor a pipe, which is not waited for");
    unlink(path);
    char *huge = calloc(1, ANSWER_BYTES_MAX + 100);
    if (!huge)
        abort();
    put_file(name, huge, ANSWER_BYTES_MAX + 100, 0600);
    free(huge);
    tap_number(take(arena, q.binding, NULL, 3000), 0, "nor one that is too long");
    put_file("99999999-2222-4333-8444-555555555555.answer", bytes.data, bytes.len, 0600);
    unlink(path);
    tap_number(take(arena, q.binding, NULL, 3000), 0, "nor one under another's name");
    put_file(name, bytes.data, bytes.len, 0600);
    tap_number(take(arena, q.binding, NULL, 3000), 1, "control: the same whole");

    /* An extra key, a key twice. */
    clean();
    ask(&q);
    struct buf more;
    buf_init(&more, &allocator_libc, 1 << 20);
    buf_append(&more, bytes.data, bytes.len - 1);
    buf_append_text(&more, ",\"answer\":\"yes\"}");
    put_file(name, more.data, more.len, 0600);
    tap_number(take(arena, q.binding, NULL, 3000), 0, "nor one that says something twice");
    buf_clear(&more);
    buf_append(&more, bytes.data, bytes.len - 1);
    buf_append_text(&more, ",\"more\":1}");
    put_file(name, more.data, more.len, 0600);
    tap_number(take(arena, q.binding, NULL, 3000), 0, "or something unknown");
    buf_release(&more);

    /* The directory itself. */
    char dir[256];
    snprintf(dir, sizeof(dir), "%s/questions", state);
    put_file(name, bytes.data, bytes.len, 0600);
    chmod(dir, 0755);
    tap_check(take(arena, q.binding, NULL, 3000) < 0, "a directory that is open to others");
    chmod(dir, 0700);
    tap_number(take(arena, q.binding, NULL, 3000), 1, "control: and one that is not");
    buf_release(&bytes);
}

/* --- A4 -------------------------------------------------------------------------------------- */

static void test_signed(struct arena *arena)
{
    const struct question q = make(NULL);
    struct note_signer signer, other;
    struct err e = {0};
    struct buf key;
    buf_init(&key, &allocator_libc, 4096);
    clean();
    tap_number(approver_open(state, "long enough", &signer, &e), -ENOENT, "no key yet");
    tap_number(approver_make(state, "ada", "short", &signer, &e), -EINVAL, "a short passphrase");
    tap_number(approver_make(state, "a b", "long enough", &signer, &e), -EINVAL, "a bad name");
    tap_number(approver_make(state, "ada", "long enough", &signer, &e), 0, "a key");
    tap_number(approver_open(state, "long enougH", &other, &e), -EPERM, "another passphrase");
    tap_number(approver_open(state, "long enough", &other, &e), 0, "the same");
    tap_check(memcmp(signer.secret, other.secret, sizeof(other.secret)) == 0, "is the same key");
    note_key_write(&signer.public, &key);

    struct answer a = answer_to(&q, true);
    ask(&q);
    approve_say(state, &a, &e);
    tap_number(take(arena, q.binding, key.data, 3000), 0, "an answer that is not signed is none");
    clean();
    ask(&q);
    answer_sign(&a, &signer);
    tap_number(answer_check(&a, key.data, &e), 0, "signed");
#define FORGED(name, ...)                                                                          \
    do {                                                                                           \
        struct answer forged = a;                                                                  \
        __VA_ARGS__;                                                                               \
        tap_check(answer_check(&forged, key.data, NULL) < 0, "the signature is over the %s",       \
                  name);                                                                           \
    } while (0)
    FORGED("binding", forged.binding[0] ^= 1);
    FORGED("question", forged.id[0] = 'a');
    FORGED("answer", forged.yes = false);
    FORGED("scope", forged.scope = ANSWER_JOB);
    FORGED("end", forged.expires_ms++);
    FORGED("time", forged.time_ms++);
    FORGED("person", forged.by = "uid 2");
    FORGED("reason", forged.reason = "x");
    FORGED("signature", forged.signature[5] ^= 1);
    FORGED("name", forged.key_name[0] = 'b');
    approve_say(state, &a, &e);
    tap_number(take(arena, q.binding, key.data, 3000), 1, "and used");

    clean();
    ask(&q);
    struct note_signer stranger;
    unsigned char seed[NOTE_KEY_BYTES] = {1};
    note_signer_make("ada", seed, &stranger);
    a = answer_to(&q, true);
    answer_sign(&a, &stranger);
    approve_say(state, &a, &e);
    tap_number(take(arena, q.binding, key.data, 3000), 0, "not with a stranger's key");
    buf_release(&key);
}

/* --- A5, waiting, tidying -------------------------------------------------------------------- */

struct gone {
    size_t expired, withdrawn;
};

static void count_gone(void *user, const char *id, bool withdrawn)
{
    struct gone *g = user;
    (void)id;
    *(withdrawn ? &g->withdrawn : &g->expired) += 1;
}

static void test_sweep(struct arena *arena)
{
    struct question q = make(NULL);
    struct gone gone = {0};
    struct err e = {0};
    struct answer a;
    int lock = -1;
    char name[64];
    snprintf(name, sizeof(name), "%s.question", q.id);
    clean();
    ask(&q);
    approve_sweep(arena, state, 3000, count_gone, &gone);
    tap_check(is_there(name) && !gone.expired, "an open question stays");
    approve_sweep(arena, state, 601000, count_gone, &gone);
    tap_check(!is_there(name) && gone.expired == 1, "a late one goes, and is told of");

    q.waits = true;
    tap_number(approve_ask(state, &q, &lock, &e), 0, "one that is waited for");
    approve_sweep(arena, state, 999999, count_gone, &gone);
    tap_check(is_there(name) && lock >= 0, "is its waiter's");
    tap_number(take(arena, q.binding, NULL, 3000), 0, "no answer for others");
    a = answer_to(&q, true);
    approve_say(state, &a, &e);
    tap_number(take(arena, q.binding, NULL, 3000), 0, "nor when there is one");
    const struct approve_rules rules = {.now_ms = 3000, .timeout_ms = 600000};
    struct answer got;
    tap_number(approve_take_own(arena, state, &q, &rules, &got, &e), 1, "it is the waiter's");
    tap_check(approve_take_own(arena, state, &q, &rules, &got, &e) != 1, "once");
    fd_close(&lock);
    clean();
    approve_ask(state, &q, &lock, &e);
    fd_close(&lock);
    approve_sweep(arena, state, 3000, count_gone, &gone);
    tap_check(!is_there(name) && gone.withdrawn == 1, "whose waiter died goes");

    struct question *items;
    size_t count, bad;
    clean();
    q = make(NULL);
    ask(&q);
    put_file("99999999-2222-4333-8444-555555555555.question", "{}", 2, 0600);
    tap_number(approve_list(arena, state, &items, &count, &bad, &e), 0, "listed");
    tap_check(count == 1 && bad == 1, "and what cannot be read is counted");
    struct question found;
    tap_number(approve_find(arena, state, "1111", &found, &e), 0, "found by its start");
    tap_number(approve_find(arena, state, "2", &found, &e), -ENOENT, "or not");
    tap_number(approve_find(arena, state, "", &found, &e), -ENOENT, "nor by nothing");
    tap_number(approve_find(arena, state, "9", &found, &e), -EBADMSG, "nor one that is none");
    approve_withdraw(state, q.id);
    tap_check(!is_there(name), "withdrawn");

    clean();
    size_t asked = 0;
    int r = 0;
    for (; r == 0 && asked <= QUESTIONS_MAX; asked++) {
        char id[UUID_TEXT + 1];
        snprintf(id, sizeof(id), "%08zx-2222-4333-8444-555555555555", asked);
        q = make(id);
        r = approve_ask(state, &q, &lock, &e);
    }
    tap_check(r == -EMFILE && asked == QUESTIONS_MAX + 1, "not more than a person can answer");

    /* A hole, which is as long as any other file. */
    char path[256];
    clean();
    q = make(NULL);
    ask(&q);
    snprintf(path, sizeof(path), "%s/questions/99999999-2222-4333-8444-555555555555.question",
             state);
    put_file("99999999-2222-4333-8444-555555555555.question", "{}", 2, 0600);
    q = make("88888888-2222-4333-8444-555555555555");
    if (truncate(path, QUESTIONS_BYTES_MAX) < 0)
        abort();
    tap_number(approve_ask(state, &q, &lock, &e), -EMFILE, "nor more than can be looked through");
    if (truncate(path, QUESTIONS_BYTES_MAX / 2) < 0)
        abort();
    tap_number(approve_ask(state, &q, &lock, &e), 0, "half of that can be");
}

/* --- rules ----------------------------------------------------------------------------------- */

static int rules_of(struct arena *arena, const char *verdict, const char *const **ret,
                    size_t *count)
{
    struct question q = make(NULL);
    struct err e = {0};
    q.verdict = verdict;
    q.verdict_len = strlen(verdict);
    return rule_patterns(arena, &q, ret, count, &e);
}

#define REASON(rule)                                                                               \
    "{\"reasons\":[{\"rule\":\"" rule "\",\"decision\":\"confirm\",\"span\":[0,4]}],"
#define ACT(argv) "{\"argv\":[" argv "],\"span\":[0,4]}"

static void test_rules(struct arena *arena)
{
    const char *const *list;
    size_t count;
    tap_number(
        rules_of(arena, REASON("unknown") "\"acts\":[" ACT("\"git\",\"push\"") "]}", &list, &count),
        0, "a rule for what was shown");
    tap_check(count == 1, "one");
    tap_text(list[0], "= git push", "these words and no others");
    static const char *const bad[] = {
        REASON("unknown") "\"acts\":[" ACT("\"git\",null") "]}",
        REASON("unknown") "\"acts\":[" ACT("\"git\",\"a b\"") "]}",
        REASON("unknown") "\"acts\":[" ACT("\"git\",\"\"") "]}",
        REASON("unknown") "\"acts\":[" ACT("\"git\",\"*\"") "]}",
        REASON("unknown") "\"acts\":[" ACT("\"git\",\"\\u202e\"") "]}",
        REASON("unknown") "\"acts\":[" ACT("\"git\",\"\\ufffd\"") "]}",
        REASON("unknown") "\"acts\":[" ACT("\"a=b\"") "]}",
        REASON("unknown") "\"acts\":[" ACT("") "]}",
        REASON("unknown") "\"acts\":[]}",
        REASON("confirm: git push") "\"acts\":[" ACT("\"git\",\"push\"") "]}",
        "{\"reasons\":[],\"acts\":[]}",
        "{}",
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        tap_number(rules_of(arena, bad[i], &list, &count), -ENOTSUP, "what no rule can say");
    struct question q = make(NULL);
    struct err e = {0};
    q.verdict = REASON("unknown") "\"acts\":[" ACT("\"git\"") "]}";
    q.verdict_len = strlen(q.verdict);
    q.input = "unknown";
    tap_number(rule_patterns(arena, &q, &list, &count, &e), -ENOTSUP, "input is no part of rules");

    static const struct {
        const char *before, *after;
        size_t line;
    } files[] = {
        {"", "shell:\n  allow:\n    - \"= x\"\n", 3},
        {"# c\nredact: all", "# c\nredact: all\nshell:\n  allow:\n    - \"= x\"\n", 5},
        {"shell:\n    allow:\n    - a # c\n    - 'b'\nredact: all\n",
         "shell:\n    allow:\n    - a # c\n    - 'b'\n    - \"= x\"\nredact: all\n", 5},
        {"shell:\n  allow: [a, \"b]\", 'c']   # ]\n",
         "shell:\n  allow: [a, \"b]\", 'c', \"= x\"]   # ]\n", 2},
        {"shell:\n  allow: [\n    a, # ]\n    b\n    ]\n",
         "shell:\n  allow: [\n    a, # ]\n    b, \"= x\"\n    ]\n", 4},
        {"shell:\n  allow: []\n", "shell:\n  allow: [\"= x\"]\n", 2},
        {"shell: {}\n", "shell: {allow: [\"= x\"]}\n", 1},
        {"shell: {plain: true}\n", "shell: {allow: [\"= x\"], plain: true}\n", 1},
        {"shell: {deny: [allow], allow: [a]}\n", "shell: {deny: [allow], allow: [a, \"= x\"]}\n",
         1},
        {"network: {allow: [a]}\nshell:\n   plain: true\n",
         "network: {allow: [a]}\nshell:\n   allow:\n     - \"= x\"\n   plain: true\n", 4},
        {"shell:\n  allow:\n  - a", "shell:\n  allow:\n  - a\n  - \"= x\"\n", 4},
    };
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        struct buf out;
        size_t line = 0;
        buf_init(&out, &allocator_libc, 1 << 20);
        int r = rule_add("f", files[i].before, strlen(files[i].before), "= x", &out, &line, &e);
        tap_check(r == 0, "file %zu: %s", i, r < 0 ? e.message : "one more entry");
        tap_text(out.data, files[i].after, "the rest is as it was");
        tap_number((long long)line, (long long)files[i].line, "its line");
        buf_release(&out);
    }
    static const char *const refused[] = {"shell:\n  allow: a\n", "- a\n", "shell: [\n",
                                          "shell: a"};
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        struct buf out;
        size_t line = 0;
        buf_init(&out, &allocator_libc, 1 << 20);
        tap_check(rule_add("f", refused[i], strlen(refused[i]), "= x", &out, &line, &e) < 0,
                  "what cannot be added to is refused");
        buf_release(&out);
    }
}

/* --- a judge --------------------------------------------------------------------------------- */

static enum judge_word judged(const char *script, uint64_t timeout_ms, char reason[1024])
{
    const char *const argv[] = {"/bin/sh", "-c", script, NULL};
    struct judge_answer answer = {0};
    approve_judge(argv[0], argv, timeout_ms, -1, "{\"id\":1}", 8, &answer);
    if (reason)
        memcpy(reason, answer.reason, sizeof(answer.reason));
    return answer.word;
}

static void test_judge(void)
{
    enum { LONG = 60000 };
    char reason[1024];
    tap_number(judged("echo '{\"decision\":\"accept\",\"reason\":\"ok\"}'", LONG, reason),
               JUDGE_ACCEPT, "accept");
    tap_text(reason, "ok", "its reason");
    tap_number(judged("echo '{\"decision\":\"reject\"}'", LONG, NULL), JUDGE_REJECT, "reject");
    tap_number(judged("read x; test \"$x\" = '{\"id\":1}' && echo '{\"decision\":\"accept\"}'",
                      LONG, NULL),
               JUDGE_ACCEPT, "it is given the question");
    static const char *const unsure[] = {
        "echo '{\"decision\":\"escalate\"}'",
        "echo '{\"decision\":\"accept\"}'; exit 1",
        "echo '{\"decision\":\"accept\"}'; kill -9 $$",
        "echo '{\"decision\":\"accept\"'",
        "echo '{\"decision\":\"accept\"} x'",
        "echo '{\"decision\":\"accept\",\"decision\":\"accept\"}'",
        "echo '{\"decision\":\"ACCEPT\"}'",
        "echo '[\"accept\"]'",
        "echo accept",
        "true",
        "yes '{\"decision\":\"accept\"}'",
        "exec >&-; exec 0<&-; echo x",
    };
    for (size_t i = 0; i < sizeof(unsure) / sizeof(unsure[0]); i++)
        tap_number(judged(unsure[i], LONG, NULL), JUDGE_ESCALATE, "unsure: a person is asked");
    tap_number(judged("echo '{\"decision\":\"accept\"}'; sleep 100", 300, reason), JUDGE_ESCALATE,
               "too late");
    tap_text(reason, "the judge took too long", "and that is told");
    tap_number(judged("sleep 100 & echo '{\"decision\":\"accept\"}'", 300, NULL), JUDGE_ESCALATE,
               "whoever keeps its output open is late, too");
    const char *const nothing[] = {"/nonexistent/judge", NULL};
    struct judge_answer answer = {.word = JUDGE_ACCEPT};
    approve_judge(nothing[0], nothing, LONG, -1, "", 0, &answer);
    tap_number(answer.word, JUDGE_ESCALATE, "a judge that is not there");
    int ends[2];
    if (pipe(ends) < 0)
        abort();
    close(ends[1]);
    answer.word = JUDGE_ACCEPT;
    const char *const slow[] = {"/bin/sleep", "100", NULL};
    approve_judge(slow[0], slow, LONG, ends[0], "", 0, &answer);
    tap_number(answer.word, JUDGE_ESCALATE, "cancelled");
    close(ends[0]);
}

int main(void)
{
    struct arena arena;
    if (!mkdtemp(state))
        return 1;
    arena_init(&arena, &allocator_libc, ARENA_MAX);
    test_binding(&arena);
    test_once(&arena);
    test_race();
    test_forged(&arena);
    test_signed(&arena);
    test_sweep(&arena);
    test_rules(&arena);
    test_judge();
    arena_release(&arena);
    beneath_remove(AT_FDCWD, state);
    return tap_done();
}

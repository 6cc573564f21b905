/* Entries: written, cut to fit, read back, refused. */
#include "history/entry.h"

#include <errno.h>
#include <stdlib.h>

#include "base/utf8.h"
#include "tap.h"

#define HASH "b94d27b9934d3e08a52e52d7da7dabfac484efe37a5380ee9088f7ace2efcde9"

static struct arena arena;
static struct buf text;

static const char *write_text(const struct entry *entry)
{
    struct err e = {0};
    buf_clear(&text);
    if (entry_write(entry, &text, &e) < 0)
        printf("# %s\n", e.message);
    return text.data;
}

static int read_text(const char *bytes, struct entry *ret)
{
    return entry_read(&arena, bytes, strlen(bytes), ret, NULL);
}

static void test_form(void)
{
    static const struct entry_reason reasons[] = {{"unknown:frob", "not on the \"list\""}};
    static const char *const argv[] = {"git", "status"};
    static const char *const warnings[] = {"one", "two"};
    static const struct entry_program programs[] = {{.argv = argv, .argc = 2, .exit_code = 0},
                                                    {.argv = argv, .argc = 1, .exit_code = -1}};
    static const struct entry_change items[] = {
        {.kind = ENTRY_MODIFIED, .path = "src/a.c"},
        {.kind = ENTRY_CREATED, .path = "b\xFF"},
        {.kind = ENTRY_RENAMED, .path = "old", .to = "new\n"},
    };
    struct entry entry = {
        .kind = ENTRY_RESULT,
        .time = "2026-01-02T03:04:05.678Z",
        .id = "11111111-2222-4333-8444-555555555555",
        .agent = "coder",
        .profile = "",
        .command = {.bytes = "git status\n\x1B[1m", .len = 15},
        .canonical = {.bytes = "a\0b", .len = 3},
        .status = "ok",
        .verdict = "allow",
        .reasons = reasons,
        .reason_count = 1,
        .network = true,
        .has_exit_code = true,
        .duration_ms = 12,
        .has_resources = true,
        .cpu_ms = 1,
        .memory_peak_bytes = 2,
        .processes_peak = 3,
        .bytes_written = 4,
        .executed = programs,
        .executed_count = 2,
        .changes =
            {.known = true, .counts = {1, 1, 0, 1, 0}, .bytes = 77, .items = items, .count = 3},
        .has_reversible = true,
        .output = {.known = true,
                   .stdout_stream = {.bytes = 3, .truncated = true},
                   .frames = {.bytes = "1 0 3\nhi\n\n", .len = 10},
                   .object = HASH},
        .redactions = 1,
        .warnings = warnings,
        .warning_count = 2,
        .has_intent = true,
        .intent = 0,
    };
#define ZEROS "0000000000000000000000000000000000000000000000000000000000000000"
    tap_text(
        write_text(&entry),
        "{\"agent\":\"coder\",\"canonical\":\"a\\u0000b\",\"changes\":{\"bytes\":77,\"count\":{"
        "\"created\":1,\"modified\":1,\"renamed\":1},\"created\":[{\"base64\":\"Yv8=\"}],"
        "\"modified\":[\"src/a.c\"],\"renamed\":[{\"from\":\"old\",\"to\":\"new\\n\"}]},"
        "\"command\":\"git status\\n\\u001b[1m\",\"duration_ms\":12,\"executed\":[{\"argv\":"
        "[\"git\",\"status\"],\"exit_code\":0},{\"argv\":[\"git\"]}],\"exit_code\":0,"
        "\"id\":\"11111111-2222-4333-8444-555555555555\",\"intent\":0,\"kind\":\"result\","
        "\"network\":true,\"output\":{\"frames\":\"1 0 3\\nhi\\n\\n\",\"object\":\"" HASH
        "\",\"stderr\":{\"bytes\":0,\"sha256\":\"" ZEROS
        "\"},\"stdout\":{\"bytes\":3,\"sha256\":\"" ZEROS "\",\"truncated\":true}},"
        "\"reasons\":[{\"reason\":\"not on the \\\"list\\\"\",\"rule\":\"unknown:frob\"}],"
        "\"redactions\":1,\"resource_usage\":{\"bytes_written\":4,\"cpu_ms\":1,"
        "\"memory_peak_bytes\":2,\"processes_peak\":3},\"reversible\":false,\"status\":\"ok\","
        "\"time\":\"2026-01-02T03:04:05.678Z\",\"v\":1,\"verdict\":\"allow\","
        "\"warnings\":[\"one\",\"two\"]}",
        "form: keys in order, no blanks, absent fields absent");

    struct entry back;
    char *first = strdup(text.data);
    if (!tap_number(read_text(first, &back), 0, "form: read back")) {
        free(first);
        return;
    }
    tap_check(back.kind == ENTRY_RESULT && back.network && back.has_exit_code && back.has_intent &&
                  back.intent == 0 && back.has_reversible && !back.reversible &&
                  back.duration_ms == 12 && back.redactions == 1 && back.cpu_ms == 1 &&
                  back.memory_peak_bytes == 2 && back.processes_peak == 3 &&
                  back.bytes_written == 4,
              "form: numbers and booleans");
    tap_check(!back.profile && !back.job && !back.error && !back.rule, "form: absent is NULL");
    tap_check(back.canonical.len == 3 && memcmp(back.canonical.bytes, "a\0b", 3) == 0,
              "form: a NUL in a text");
    tap_check(back.changes.count == 3 && back.changes.counts[ENTRY_RENAMED] == 1 &&
                  strcmp(back.changes.items[0].path, "b\xFF") == 0,
              "form: a name that is not UTF-8");
    tap_check(back.executed_count == 2 && back.executed[0].argc == 2 &&
                  strcmp(back.executed[0].argv[1], "status") == 0 &&
                  back.executed[1].exit_code == -1,
              "form: programs");
    tap_check(back.output.known && back.output.stdout_stream.truncated &&
                  strcmp(back.output.object, HASH) == 0 && back.output.frames.len == 10,
              "form: output");
    tap_text(write_text(&back), first, "form: what was read is written the same");
    free(first);
    tap_number(entry_write(&(struct entry){0}, &text, NULL), -EINVAL, "form: no kind");
}

/* Everything too long at once, of the worst characters. */
static void test_cut(void)
{
    enum { LONG = 200000, MANY = 5000 };
    char *whole = malloc(LONG + 1);
    const char **argv = malloc(MANY * sizeof(*argv));
    struct entry_program *programs = malloc(MANY * sizeof(*programs));
    struct entry_reason *reasons = malloc(MANY * sizeof(*reasons));
    struct entry_change *items = malloc(MANY * sizeof(*items));
    if (!whole || !argv || !programs || !reasons || !items)
        abort();
    memset(whole, 1, LONG);
    whole[LONG] = '\0';
    struct entry entry = {
        .kind = ENTRY_RESULT,
        .time = whole,
        .id = whole,
        .agent = whole,
        .profile = whole,
        .job = whole,
        .session = whole,
        .workspace = whole,
        .working_dir = whole,
        .user = whole,
        .command = {.bytes = whole, .len = LONG},
        .canonical = {.bytes = whole, .len = LONG},
        .status = whole,
        .verdict = whole,
        .rule = whole,
        .reasons = reasons,
        .reason_count = MANY,
        .mandate_hash = whole,
        .confirmed_by = whole,
        .strength = whole,
        .limit = whole,
        .executed = programs,
        .executed_count = MANY,
        .fs_hash_before = whole,
        .fs_hash_after = whole,
        .changes = {.known = true, .items = items, .count = MANY},
        .output = {.known = true, .frames = {.bytes = whole, .len = LONG}},
        .warnings = argv,
        .warning_count = MANY,
        .error = whole,
        .object = whole,
        .detail = whole,
    };
    /* All of them are hashed: paths are as long as they can be, and no longer. */
    const char *tail = whole + LONG - 4000;
    for (size_t i = 0; i < MANY; i++) {
        argv[i] = whole;
        programs[i] = (struct entry_program){.argv = argv, .argc = MANY, .exit_code = 255};
        reasons[i] = (struct entry_reason){whole, whole};
        items[i] = (struct entry_change){
            .kind = (enum entry_change_kind)(i % ENTRY_CHANGE_KINDS), .path = tail, .to = tail};
    }
    struct entry back;
    write_text(&entry);
    tap_check(text.len > 0 && text.len <= ENTRY_BYTES_MAX, "cut: all too long fits: %zu bytes",
              text.len);
    tap_check(text.failed == 0 && read_text(text.data, &back) == 0 &&
                  back.command.whole_len == LONG && back.command.len < LONG &&
                  memcmp(back.command.bytes, whole, back.command.len) == 0,
              "cut: the command's head and length");
    tap_check(back.executed_total == MANY && back.reason_total == MANY &&
                  back.warning_total == MANY && back.changes.hash[0],
              "cut: lists say how many there were");

    /* A long command alone: as much of it as fits, and its hash. */
    memset(whole, 'x', LONG);
    struct entry one = {.kind = ENTRY_INTENT, .command = {.bytes = whole, .len = LONG}};
    write_text(&one);
    tap_check(read_text(text.data, &back) == 0 && back.command.len > ENTRY_BYTES_MAX / 4 &&
                  text.len <= ENTRY_BYTES_MAX,
              "cut: %zu bytes of a long command", back.command.len);
    tap_text(back.command.whole_hash,
             "91e3faafd322bcdf160f3f0ce886acb092b9b9e2a1e8526b40f21a8898a8700b",
             "cut: the SHA-256 of all of it");
    one.command.len = ENTRY_BYTES_MAX - 64;
    write_text(&one);
    tap_check(read_text(text.data, &back) == 0 && back.command.len == ENTRY_BYTES_MAX - 64 &&
                  !back.command.whole_len,
              "cut: what fits is whole");

    /* At a character. */
    for (size_t i = 0; i + 3 <= LONG; i += 3)
        memcpy(whole + i, "\xE2\x82\xAC", 3);
    bool whole_characters = true;
    for (size_t shift = 0; shift < 3; shift++) {
        one.command = (struct entry_text){.bytes = whole + 3 * shift, .len = LONG / 3 * 3 - 30};
        one.id = &"abc"[shift];
        write_text(&one);
        whole_characters &= read_text(text.data, &back) == 0 && back.command.whole_len &&
                            back.command.len % 3 == 0 &&
                            utf8_valid(back.command.bytes, back.command.len);
    }
    tap_check(whole_characters, "cut: no character is split");
    free(whole);
    free(argv);
    free(programs);
    free(reasons);
    free(items);
}

static void test_changes(void)
{
    enum { MANY = 3000 };
    static char names[MANY][32];
    static struct entry_change items[MANY];
    for (size_t i = 0; i < MANY; i++) {
        snprintf(names[i], sizeof(names[i]), "dir/of/many/files/%zu", i);
        items[i] = (struct entry_change){.kind = i == MANY - 1 ? ENTRY_DELETED : ENTRY_CREATED,
                                         .path = names[i]};
    }
    struct entry entry = {
        .kind = ENTRY_RESULT,
        .changes = {
            .known = true, .items = items, .count = MANY, .counts = {MANY - 1, 0, 1, 0, 0}}};
    struct entry back;
    struct entry_changes all;
    struct buf list;
    struct sha256 hash;
    unsigned char digest[SHA256_BYTES];
    char hex[SHA256_HEX + 1];
    write_text(&entry);
    if (!tap_number(read_text(text.data, &back), 0, "changes: a long list"))
        return;
    tap_check(back.changes.count > 100 && back.changes.count < MANY &&
                  back.changes.counts[ENTRY_CREATED] == MANY - 1,
              "changes: %zu of %d are listed", back.changes.count, MANY);
    tap_text(back.changes.items[back.changes.count - 1].path, names[MANY - 1],
             "changes: what was deleted is not crowded out");
    buf_init(&list, &allocator_libc, 1 << 20);
    tap_number(entry_write_changes(&entry.changes, &list, NULL), 0, "changes: all of them");
    sha256_start(&hash);
    sha256_add(&hash, list.data, list.len);
    sha256_end(&hash, digest);
    sha256_hex(digest, hex);
    tap_text(back.changes.hash, hex, "changes: the entry has the hash of the whole list");
    tap_check(entry_read_changes(&arena, list.data, list.len, &all, NULL) == 0 &&
                  all.count == MANY && all.counts[ENTRY_CREATED] == MANY - 1,
              "changes: the whole list is read");
    buf_release(&list);
}

static void test_refused(void)
{
#define START "{\"kind\":\"result\",\"v\":1,"
    static const char *const bad[] = {
        "",
        "[]",
        "null",
        "{}",
        "{\"kind\":\"result\"}",
        "{\"v\":1}",
        "{\"kind\":\"none\",\"v\":1}",
        "{\"kind\":\"other\",\"v\":1}",
        "{\"kind\":\"result\",\"v\":\"1\"}",
        "{\"kind\":\"result\",\"v\":0}",
        START "\"id\":1}",
        START "\"id\":null}",
        START "\"id\":\"a\\u0000b\"}",
        START "\"id\":\"a\",\"id\":\"b\"}",
        START "\"id\":\"a\"} x",
        START "\"id\":{\"base64\":\"Yv8\"}}",
        START "\"id\":{\"base64\":\"====\"}}",
        START "\"id\":{\"base64\":\"YQ==\",\"text\":\"a\"}}",
        START "\"id\":{}}",
        START "\"command\":{\"text\":\"a\",\"bytes\":5}}",
        START "\"command\":{\"text\":\"abc\",\"bytes\":2,\"sha256\":\"" HASH "\"}}",
        START "\"exit_code\":\"0\"}",
        START "\"exit_code\":1.5}",
        START "\"exit_code\":9999999999}",
        START "\"duration_ms\":-1}",
        START "\"duration_ms\":18446744073709551616}",
        START "\"network\":1}",
        START "\"reasons\":{}}",
        START "\"reasons\":[1]}",
        START "\"reasons\":[{\"rule\":\"a\"}]}",
        START "\"executed\":[[]]}",
        START "\"executed\":[{\"argv\":[1]}]}",
        START "\"changes\":[]}",
        START "\"changes\":{\"created\":[1]}}",
        START "\"changes\":{\"renamed\":[\"a\"]}}",
        START "\"changes\":{\"all_sha256\":\"abc\"}}",
        START "\"output\":{}}",
        START "\"output\":{\"stdout\":{},\"stderr\":{}}}",
        START "\"warnings\":\"a\"}",
        START "\"id\":\"\xFF\"}",
    };
    struct entry back;
    struct err e;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        tap_number(entry_read(&arena, bad[i], strlen(bad[i]), &back, &e), -EBADMSG, bad[i]);
    tap_number(read_text(START "\"later\":{\"x\":[1,2.5,null]}}", &back), 0,
               "unknown keys are passed over");
    static char deep[60000];
    memset(deep, '[', sizeof(deep) - 1);
    tap_number(read_text(deep, &back), -EBADMSG, "a very deep one");
}

int main(void)
{
    arena_init(&arena, &allocator_libc, 256 << 20);
    buf_init(&text, &allocator_libc, 1 << 20);
    test_form();
    test_cut();
    test_changes();
    test_refused();
    buf_release(&text);
    arena_release(&arena);
    return tap_done();
}

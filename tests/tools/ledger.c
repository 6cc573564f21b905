/*
 * The ledger's functions from the command line, for tests. Errors go to standard error, exit 1.
 *
 *   ledger append DIR COUNT [PREFIX] [SEGMENT-BYTES]
 *                           appends PREFIX-N, durable each; prints "INDEX PREFIX-N" as each is
 *   ledger record DIR       one record from standard input, as it is; prints its index
 *   ledger later DIR COUNT PREFIX     appends without waiting, then syncs once
 *   ledger list DIR [FROM]  "INDEX BYTES-IN-HEX" a line
 *   ledger back DIR         the same backward from the end
 *   ledger prove DIR INDEX, checkpoint DIR, key DIR, size DIR, first DIR
 *   ledger publish DIR [entries] [anew]
 *   ledger retain DIR MAX-BYTES [SEGMENT-BYTES]
 *   ledger hooks DIR COUNT EVERY-MS KIND TARGET
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ledger/ledger.h"

static struct err failure;

static void on_notice(void *user, const struct ledger_notice *n)
{
    (void)user;
    fprintf(stderr, "notice %d: index %llu, %llu bytes, signed %llu: %s\n", (int)n->kind,
            (unsigned long long)n->index, (unsigned long long)n->bytes,
            (unsigned long long)n->signed_size, n->text);
}

static int fail(void)
{
    fprintf(stderr, "ledger: %s\n", failure.message);
    return 1;
}

static unsigned long long number(const char *text)
{
    return text ? strtoull(text, NULL, 10) : 0;
}

static int append(struct ledger *l, unsigned long long count, const char *prefix, bool later)
{
    char text[256];
    struct ledger_place place = {0};
    for (unsigned long long i = 0; i < count; i++) {
        int len = snprintf(text, sizeof(text), "%s-%llu", prefix ? prefix : "record", i);
        int r = later ? ledger_append_later(l, text, (size_t)len, &place, &failure)
                      : ledger_append(l, text, (size_t)len, &place, &failure);
        if (r < 0)
            return fail();
        /* One write a line: whoever reads it knows that it was acknowledged. */
        if (!later)
            dprintf(STDOUT_FILENO, "%llu %s\n", (unsigned long long)place.index, text);
    }
    if (later && count && ledger_sync(l, place.index, &failure) < 0)
        return fail();
    return 0;
}

static int record(struct ledger *l)
{
    static char bytes[LEDGER_RECORD_MAX + 2];
    struct ledger_place place;
    size_t len = fread(bytes, 1, sizeof(bytes), stdin);
    if (ledger_append(l, bytes, len, &place, &failure) < 0)
        return fail();
    printf("%llu\n", (unsigned long long)place.index);
    return 0;
}

static int list(struct ledger *l, unsigned long long from, bool back)
{
    struct ledger_iterator *i = NULL;
    struct ledger_record record = {0};
    uint64_t size;
    int r = ledger_size(l, &size, &failure);
    if (r == 0)
        r = ledger_iterate(l, back ? size : from, &i, &failure);
    if (r < 0)
        return fail();
    while ((r = back ? ledger_iterator_previous(i, &record, &failure)
                     : ledger_iterator_next(i, &record, &failure)) == 1) {
        printf("%llu ", (unsigned long long)record.index);
        for (size_t k = 0; k < record.len; k++)
            printf("%02x", record.bytes[k]);
        putchar('\n');
    }
    ledger_iterator_free(i);
    return r < 0 ? fail() : 0;
}

static int show(struct ledger *l, const char *what, const char *argument)
{
    struct buf out;
    uint64_t value = 0;
    buf_init(&out, &allocator_libc, 1 << 20);
    int r = strcmp(what, "prove") == 0        ? ledger_prove(l, number(argument), &out, &failure)
            : strcmp(what, "checkpoint") == 0 ? ledger_checkpoint(l, &out, &failure)
            : strcmp(what, "key") == 0        ? ledger_key(l, &out)
            : strcmp(what, "size") == 0       ? ledger_size(l, &value, &failure)
                                              : ledger_first(l, &value, &failure);
    if (r == 0 && (strcmp(what, "size") == 0 || strcmp(what, "first") == 0))
        buf_append_format(&out, "%llu\n", (unsigned long long)value);
    if (r == 0)
        fwrite(out.data, 1, out.len, stdout);
    buf_release(&out);
    return r < 0 ? fail() : 0;
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        fputs("usage: ledger COMMAND DIR …\n", stderr);
        return 2;
    }
    const char *command = argv[1];
    const char *a = argc > 3 ? argv[3] : NULL, *b = argc > 4 ? argv[4] : NULL;
    bool writes = strcmp(command, "append") == 0 || strcmp(command, "later") == 0 ||
                  strcmp(command, "record") == 0 || strcmp(command, "publish") == 0 ||
                  strcmp(command, "retain") == 0 || strcmp(command, "hooks") == 0;
    struct ledger_hook hook = {0};
    struct ledger_options options = {
        .flags = writes ? LEDGER_CREATE : LEDGER_READ_ONLY,
        .origin = getenv("LEDGER_ORIGIN"),
        .key_path = getenv("LEDGER_KEY"),
        .notice = on_notice,
        .segment_bytes = strcmp(command, "append") == 0 && argc > 5 ? number(argv[5]) : 0,
    };
    if (strcmp(command, "hooks") == 0 && argc > 6) {
        hook.kind = strcmp(argv[5], "file") == 0      ? LEDGER_HOOK_FILE
                    : strcmp(argv[5], "command") == 0 ? LEDGER_HOOK_COMMAND
                                                      : LEDGER_HOOK_SYSLOG;
        hook.target = argv[6];
        hook.every_ms = number(b);
        options.hooks = &hook;
        options.hook_count = 1;
        b = "hooked";
    }
    struct ledger *l;
    if (ledger_open(argv[2], &options, &l, &failure) < 0)
        return fail();
    uint64_t first;
    unsigned flags = 0;
    for (int i = 3; i < argc; i++)
        flags |= strcmp(argv[i], "entries") == 0 ? LEDGER_PUBLISH_ENTRIES
                 : strcmp(argv[i], "anew") == 0  ? LEDGER_PUBLISH_ANEW
                                                 : 0;
    int r =
        strcmp(command, "append") == 0 || strcmp(command, "hooks") == 0
            ? append(l, number(a), b, false)
        : strcmp(command, "later") == 0   ? append(l, number(a), b, true)
        : strcmp(command, "record") == 0  ? record(l)
        : strcmp(command, "list") == 0    ? list(l, number(a), false)
        : strcmp(command, "back") == 0    ? list(l, 0, true)
        : strcmp(command, "publish") == 0 ? (ledger_publish(l, flags, &failure) < 0 ? fail() : 0)
        : strcmp(command, "retain") == 0  ? (ledger_retain(l, number(a), 0, &first, &failure) < 0
                                                 ? fail()
                                                 : (printf("%llu\n", (unsigned long long)first), 0))
                                          : show(l, command, a);
    ledger_close(l);
    return r;
}

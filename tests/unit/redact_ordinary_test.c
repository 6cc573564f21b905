/*
 * Ordinary lines stay as they are: tests/cases/redact/ordinary.txt, line by line and as a whole.
 *
 *   redact_ordinary_test [FILE]     any other file, too: each line that would change is shown
 */
#include <libgen.h>
#include <stdlib.h>
#include <unistd.h>

#include "redact/redact.h"
#include "tap.h"

enum { FILE_MAX = 64 << 20, LINES_MIN = 200 };

/* build/VARIANT/unit/redact_ordinary_test → tests/cases/redact, wherever all that lies. */
static bool find_lines(char *ret, size_t size)
{
    char program[4096];
    ssize_t len = readlink("/proc/self/exe", program, sizeof(program) - 1);
    if (len < 0)
        return false;
    program[len] = '\0';
    return snprintf(ret, size, "%s/../../../tests/cases/redact/ordinary.txt", dirname(program)) <
           (int)size;
}

static bool stays(const struct redactor *r, const char *text, size_t len, struct buf *out)
{
    buf_clear(out);
    return redact_text(r, text, len, out, NULL, NULL) == 0 && out->len == len &&
           memcmp(out->data, text, len) == 0;
}

int main(int argc, char **argv)
{
    char found[8192];
    struct redactor *r;
    struct buf out;
    const char *path = argc > 1 ? argv[1] : find_lines(found, sizeof(found)) ? found : "";
    char *text = malloc(FILE_MAX);
    FILE *f = fopen(path, "re");
    buf_init(&out, &allocator_libc, (size_t)FILE_MAX * 2);
    if (!f || !text || redactor_new(NULL, &r, NULL) < 0) {
        fprintf(stderr, "cannot read '%s'\n", path);
        return 2;
    }
    size_t len = fread(text, 1, FILE_MAX, f), lines = 0;
    fclose(f);
    for (size_t at = 0; at < len; lines++) {
        const char *end = memchr(text + at, '\n', len - at);
        size_t next = end ? (size_t)(end - text) + 1 : len;
        bool good = stays(r, text + at, next - at, &out);
        if (argc == 1 || !good)
            tap_check(good, "stays: %.*s", (int)(next - at - 1), text + at);
        if (!good)
            printf("#   %s\n", out.data);
        at = next;
    }
    tap_check(stays(r, text, len, &out), "all of them together stay");
    tap_check(lines >= LINES_MIN, "there are hundreds of lines");
    redactor_free(r);
    buf_release(&out);
    free(text);
    return tap_done();
}

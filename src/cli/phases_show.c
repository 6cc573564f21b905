/* See phases_show.h. */
#include "cli/phases_show.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/fd.h"
#include "cli/cli.h"
#include "engine/engine.h"

void phases_show(const nacre_result *r)
{
    const struct phases *p = &r->phases;
    uint64_t first = p->count ? p->spans[0].from_ns : 0, last = first;
    for (size_t i = 0; i < p->count; i++) {
        uint64_t from = p->spans[i].from_ns, to = p->spans[i].to_ns;
        fprintf(stderr, "%8" PRIu64 " us  %-8s %8" PRIu64 " us\n", (from - first) / 1000,
                phases_name(p->spans[i].phase), (to - from) / 1000);
        last = to;
    }
    fprintf(stderr, "%8" PRIu64 " us  in all\n", (last - first) / 1000);
}

static int write_piece(void *user, const char *bytes, size_t len)
{
    return fd_write_all(*(int *)user, bytes, len);
}

int phases_save(const nacre_result *r, const char *path)
{
    FD_CLEANUP int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    int failure = fd < 0 ? -errno : nacre_result_write_trace(r, write_piece, &fd);
    if (failure < 0)
        cli_complain("cannot write '%s': %s", path, strerror(-failure));
    return failure;
}

/*
 * What a run changed, file by file, as git would show it: head lines, then hunks. What git has no
 * word for (directories, times, pipes) is one line, over which patch and git apply pass.
 */
#ifndef NACRE_CHANGES_PATCH_H
#define NACRE_CHANGES_PATCH_H

#include "base/buf.h"
#include "changes/changes.h"

struct patch {
    const struct change *change;
    const char *path;            /* relative to the first root, absolute in others */
    const char *from;            /* renamed: its path before; else NULL */
    uint32_t old_mode, new_mode; /* type and permissions; 0: there was nothing, or is nothing */
    const char *note; /* what became of it in a few words, where that is all to be said; or NULL */
    bool missing;     /* it could not be shown; the note says why */
    bool binary;
    uint64_t old_size, new_size;
    size_t removed, added; /* lines */
    struct buf head, hunks;
};

enum patch_wants {
    PATCH_NAMES, /* no content is looked at */
    PATCH_HUNKS,
};

/* A negative errno ends it. */
typedef int patch_user(void *user, const struct patch *patch);

/* Calls `use` for each; a file that became a link, or a link a file, is two, as it is for git. */
int patches_make(const struct journal *journal, enum patch_wants wants, patch_user *use, void *user,
                 struct err *e);

#endif

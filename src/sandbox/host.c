/* See host.h. */
#include "sandbox/host.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/fd.h"
#include "sandbox/kernel_calls.h"

/* Whether the kernel is of this version or later. */
static bool kernel_is_from(unsigned major, unsigned minor)
{
    struct utsname name;
    unsigned has_major = 0, has_minor = 0;
    return uname(&name) == 0 && sscanf(name.release, "%u.%u", &has_major, &has_minor) == 2 &&
           (has_major > major || (has_major == major && has_minor >= minor));
}

/* A number that the kernel tells in a file of its own; 0: it does not. */
static unsigned read_number(const char *path)
{
    char text[32];
    FD_CLEANUP int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    unsigned long number = 0;
    if (n > 0) {
        text[n] = '\0';
        number = strtoul(text, NULL, 10);
    }
    return number > INT_MAX ? INT_MAX : (unsigned)number;
}

enum { COPY_MAX = 4096 };

/* The content of a small file; NULL for one that is larger by now, or no text. */
static const char *read_text(struct arena *arena, const char *path)
{
    char text[COPY_MAX + 1];
    FD_CLEANUP int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text));
    if (n < 0 || n > COPY_MAX || memchr(text, '\0', (size_t)n))
        return NULL;
    return arena_copy(arena, text, (size_t)n);
}

int host_look(struct arena *arena, struct plan_host *ret, struct err *e)
{
    size_t max = 0;
    while (plan_system_paths[max])
        max++;
    struct plan_host_entry *entries = arena_alloc_array(arena, max, sizeof(*entries));
    size_t count = 0;
    for (size_t i = 0; entries && i < max; i++) {
        const char *path = plan_system_paths[i];
        struct stat st;
        if (lstat(path, &st) < 0)
            continue;
        struct plan_host_entry entry = {.path = path, .type = PLAN_HOST_PLACE};
        if (S_ISLNK(st.st_mode)) {
            char target[PATH_MAX];
            ssize_t len = readlink(path, target, sizeof(target));
            if (len <= 0 || len == (ssize_t)sizeof(target))
                continue;
            entry.type = PLAN_HOST_LINK;
            entry.target = arena_copy(arena, target, (size_t)len);
        } else if (S_ISREG(st.st_mode) && st.st_mode & S_IROTH && st.st_size <= COPY_MAX) {
            entry.target = read_text(arena, path);
            entry.type = entry.target ? PLAN_HOST_COPY : PLAN_HOST_PLACE;
        }
        entries[count++] = entry;
    }
    if (arena->failed)
        return err_set(e, -ENOMEM, "out of memory");

    static const char *const shells[] = {"/bin/bash", "/usr/bin/bash"};
    const char *bash = NULL;
    for (size_t i = 0; !bash && i < sizeof(shells) / sizeof(shells[0]); i++) {
        if (access(shells[i], X_OK) == 0)
            bash = shells[i];
    }
    if (!bash)
        return err_set(e, -ENOENT, "no bash at /bin/bash; install the package bash");
    int abi = kernel_landlock_abi();
    *ret = (struct plan_host){
        .entries = entries,
        .count = count,
        .bash = bash,
        .landlock_abi = abi > 0 ? (unsigned)abi : 0,
        .counts_per_namespace = kernel_is_from(5, 14),
        .inotify_instances = read_number("/proc/sys/fs/inotify/max_user_instances"),
        .inotify_watches = read_number("/proc/sys/fs/inotify/max_user_watches"),
    };
    return 0;
}

/* Probes: rows are complete, repeatable, and leave nothing behind. */
#include "sandbox/probe.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tap.h"

static int count_entries(const char *path)
{
    int count = 0;
    DIR *directory = opendir(path);
    while (directory && readdir(directory))
        count++;
    if (directory)
        closedir(directory);
    return count;
}

static bool no_child_left(void)
{
    return waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD;
}

static bool is_one_sentence(const char *text)
{
    size_t len = strlen(text);
    return len > 0 && text[len - 1] != '.' && text[len - 1] != '\n' && !strchr(text, '\n');
}

static void check_row(const struct probe_result *row)
{
    tap_check(row->name && row->name[0], "'%s' has a name", row->name);
    tap_check(row->detail[0] && strlen(row->detail) < sizeof(row->detail) - 1,
              "'%s' has a detail that fits: %s", row->name, row->detail);
    if (row->state == PROBE_PRESENT)
        tap_check(row->remedy[0] == '\0', "'%s' is present and has no remedy", row->name);
    else
        tap_check(is_one_sentence(row->remedy) && strlen(row->remedy) < sizeof(row->remedy) - 1,
                  "'%s' is missing and has a remedy that fits: %s", row->name, row->remedy);
}

static void check_explanations(void)
{
    static const int codes[] = {-EPERM, -EACCES, -ENOSPC, -EINVAL, -ENOSYS, -EUSERS, -ETIMEDOUT, 0};
    for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
        char remedy[320];
        memset(remedy, 'x', sizeof(remedy));
        probe_explain_userns(codes[i], remedy, sizeof(remedy));
        tap_check(memchr(remedy, '\0', sizeof(remedy)) && is_one_sentence(remedy),
                  "errno %d is explained: %.200s", -codes[i], remedy);
    }
    char small[8];
    memset(small, 'x', sizeof(small));
    probe_explain_userns(-EPERM, small, sizeof(small));
    tap_check(memchr(small, '\0', sizeof(small)) != NULL, "a small buffer is not overrun");
}

int main(void)
{
    static struct probe_result first[PROBE_MAX], second[PROBE_MAX];
    char before[4096], after[4096];
    int descriptors = count_entries("/proc/self/fd"), mounts = count_entries("/");
    const char *directory = getcwd(before, sizeof(before));
    mode_t mask = umask(0);
    umask(mask);

    size_t count = probe_all(first, PROBE_MAX);
    tap_number(count_entries("/proc/self/fd"), descriptors, "no descriptor is left");
    tap_check(no_child_left(), "no child is left");

    tap_check(count >= 20, "the table has %zu rows", count);
    for (size_t i = 0; i < count; i++) {
        check_row(&first[i]);
        for (size_t k = 0; k < i; k++)
            if (strcmp(first[i].name, first[k].name) == 0)
                tap_check(false, "the name '%s' is unique", first[i].name);
    }

    tap_number((long long)probe_all(second, PROBE_MAX), (long long)count, "as many rows again");
    for (size_t i = 0; i < count; i++) {
        tap_check(second[i].state == first[i].state && second[i].need == first[i].need,
                  "'%s' is found in the same state again", first[i].name);
        tap_text(second[i].detail, first[i].detail, "with the same detail");
        tap_text(second[i].remedy, first[i].remedy, "with the same remedy");
    }

    /* Only as many rows as there is room for. */
    memset(second, 0, sizeof(second));
    tap_number((long long)probe_all(second, 2), 2, "two rows when there is room for two");
    tap_check(second[1].name && !second[2].name, "and nothing behind them");
    tap_number((long long)probe_all(NULL, 0), 0, "no row when there is no room");

    check_explanations();

    tap_number(count_entries("/proc/self/fd"), descriptors, "no descriptor is left at the end");
    tap_number(count_entries("/"), mounts, "the root directory is as before");
    tap_check(no_child_left(), "no child is left at the end");
    tap_check(directory && getcwd(after, sizeof(after)) && strcmp(before, after) == 0,
              "the current directory is as before");
    tap_check(umask(mask) == mask, "the umask is as before");
    return tap_done();
}

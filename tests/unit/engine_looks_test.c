/* What is remembered of names that are not there (looks.h), and threads that stay (crew.h). */
#include <stdatomic.h>
#include <time.h>

#include "engine/crew.h"
#include "engine/looks.h"
#include "engine_place.h"

static struct looks_memory memory;

/* As a run of its own asks. */
static bool is_missing(const char *path)
{
    struct looks looks = {.memory = &memory};
    bool missing = looks_missing(&looks, path);
    looks_end(&looks);
    return missing;
}

static void wait_until_old(void)
{
    const struct timespec moment = {.tv_sec = 5};
    nanosleep(&moment, NULL);
}

static void try_looks(void)
{
    looks_init(&memory, &allocator_libc);
    make_dir(at("dir"));
    make_dir(at("full/sub"));
    make_file(at("full/name"), "x");
    make_file(at("file"), "x");
    tap_check(is_missing(at("dir/name")), "a name in a new directory");
    make_file(at("dir/name"), "x");
    tap_check(!is_missing(at("dir/name")), "what comes at once is seen: nothing was remembered");
    unlink(at("dir/name"));
    wait_until_old();
    for (int i = 0; i < 3; i++)
        tap_check(is_missing(at("dir/name")) && is_missing(at("dir/other")), "time %d", i);
    make_file(at("dir/name"), "x");
    tap_check(!is_missing(at("dir/name")), "what comes to be is seen");
    tap_check(is_missing(at("dir/other")), "and the other is not there still");
    make_file(at("dir/other"), "x");
    tap_check(!is_missing(at("dir/other")), "until it is");

    tap_check(is_missing(at("none/name")), "in a directory that is not there");
    tap_check(is_missing(at("none/name")), "twice");
    tap_check(is_missing(at("top")), "(its parent has been looked at)");
    make_file(at("none/name"), "x");
    tap_check(!is_missing(at("none/name")), "directory and name come to be");

    make_dir(at("empty"));
    wait_until_old();
    for (int i = 0; i < 2; i++)
        tap_check(is_missing(at("empty/name")), "in an old directory, time %d", i);
    rename(at("empty"), at("away"));
    rename(at("full"), at("empty"));
    tap_check(!is_missing(at("empty/name")), "another directory in its place");
    rename(at("empty"), at("full"));
    make_link(at("empty"), "away");
    tap_check(is_missing(at("empty/name")), "by a link");
    make_link(at("empty"), "full");
    tap_check(!is_missing(at("empty/name")), "which leads elsewhere now");

    make_link(at("away/link"), "nowhere");
    tap_check(!is_missing(at("away/link")), "a link that leads nowhere is there");
    make_link(at("gone"), "nowhere");
    tap_check(is_missing(at("gone/name")), "but nothing is behind it");
    make_file(at("nowhere/name"), "x");
    tap_check(!is_missing(at("gone/name")), "until it leads somewhere");
    tap_check(!is_missing(at("file/name")), "below a file it is not known: who asks finds out");
    tap_check(!looks_missing(NULL, at("file")) && looks_missing(NULL, at("nothing")),
              "without a memory each is looked for");
    struct looks looks = {.memory = &memory};
    for (int i = 0; i < 2 * LOOKS_DIRS; i++) {
        make_dir(at("many/%d", i));
        if (!looks_missing(&looks, at("many/%d/name", i)))
            tap_check(false, "directory %d", i);
    }
    tap_check(looks.count == LOOKS_DIRS, "of more directories than have room, too");
    looks_end(&looks);
    looks_clear(&memory);
}

enum { TASKS = 64 };
static atomic_int ran[TASKS], at_once, most;

static void *count(void *user)
{
    const struct timespec moment = {.tv_nsec = 5000000};
    int now = atomic_fetch_add(&at_once, 1) + 1;
    if (now > atomic_load(&most))
        atomic_store(&most, now);
    nanosleep(&moment, NULL);
    atomic_fetch_add((atomic_int *)user, 1);
    atomic_fetch_sub(&at_once, 1);
    return NULL;
}

static void try_crew(void)
{
    struct crew crew;
    struct crew_task tasks[TASKS] = {0};
    crew_init(&crew);
    crew_wait(&crew, &tasks[0]);
    tap_check(true, "what was not started is not waited for");
    bool all = true;
    for (int i = 0; i < TASKS; i++)
        all = crew_start(&crew, &tasks[i], count, &ran[i]) == 0 && all;
    for (int i = TASKS - 1; i >= 0; i--)
        crew_wait(&crew, &tasks[i]);
    for (int i = 0; i < TASKS; i++)
        all = all && atomic_load(&ran[i]) == 1 && !tasks[i].started;
    tap_check(all, "each task runs once");
    tap_check(atomic_load(&most) > 1, "and none waits for another");
    for (int i = 0; i < 20; i++) {
        crew_start(&crew, &tasks[0], count, &ran[0]);
        crew_wait(&crew, &tasks[0]);
    }
    tap_number(atomic_load(&ran[0]), 21, "one after the other");
    pthread_mutex_lock(&crew.lock);
    size_t threads = crew.count;
    pthread_mutex_unlock(&crew.lock);
    tap_check(threads > 0 && threads <= 9, "few threads stay");
    crew_release(&crew);
    tap_number((long long)crew.count, 0, "and none in the end");
}

int main(void)
{
    if (!place_open())
        return 1;
    try_looks();
    try_crew();
    place_close();
    return tap_done();
}

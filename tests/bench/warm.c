/*
 * What a sandboxed command costs a long-lived caller: a bare spawn, a run whose walls are built for
 * it, and one whose walls were built ahead, in turns; each with verdict, overlay, commit and
 * ledger, and without the last three in memory. One fdatasync and one overlay mount, which no bare
 * command makes, are measured beside them.
 *
 *   warm LAUNCHER DIRECTORY [ROUNDS]
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "nacre.h"
#include "timing.h"

enum { WORK = 150, ROUNDS_MAX = 2000, WARM_UP = 10, POOL = 4 };

static double run_once(nacre *n, const nacre_run_options *o, const char *text)
{
    nacre_result *r;
    nacre_error error;
    double start = now_ms();
    if (nacre_run(n, text, strlen(text), o, &r, &error) < 0 ||
        nacre_result_status(r) != NACRE_STATUS_OK) {
        fprintf(stderr, "warm: '%s' did not run\n", text);
        exit(1);
    }
    double took = now_ms() - start;
    nacre_result_free(r);
    return took;
}

static int write_file(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : write(fd, text, strlen(text));
    close(fd);
    return n == (ssize_t)strlen(text) ? 0 : -1;
}

/* One overlay mount with its layer on the same file system, made and let go; median of some. */
static double overlay_once(const char *directory)
{
    enum { TIMES = 60 };
    static double times[TIMES];
    int out[2];
    double result = 0;
    if (pipe(out) < 0)
        exit(1);
    pid_t pid = fork();
    if (pid == 0) {
        char map[64], groups[64], options[4096];
        snprintf(map, sizeof(map), "0 %u 1", (unsigned)geteuid());
        snprintf(groups, sizeof(groups), "0 %u 1", (unsigned)getegid());
        if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0 ||
            write_file("/proc/self/setgroups", "deny") < 0 ||
            write_file("/proc/self/uid_map", map) < 0 ||
            write_file("/proc/self/gid_map", groups) < 0 || chdir(directory) < 0 ||
            mkdir("l", 0700) < 0 || mkdir("m", 0700) < 0)
            _exit(1);
        for (int i = 0; i < TIMES; i++) {
            char upper[16], work[16];
            snprintf(upper, sizeof(upper), "u%d", i);
            snprintf(work, sizeof(work), "w%d", i);
            snprintf(options, sizeof(options),
                     "lowerdir=l,upperdir=%s,workdir=%s,userxattr,volatile", upper, work);
            if (mkdir(upper, 0700) < 0 || mkdir(work, 0700) < 0)
                _exit(1);
            double start = now_ms();
            if (mount("overlay", "m", "overlay", 0, options) < 0)
                _exit(1);
            times[i] = now_ms() - start;
            umount2("m", MNT_DETACH);
        }
        result = median(times, TIMES);
        _exit(write(out[1], &result, sizeof(result)) != (ssize_t)sizeof(result));
    }
    close(out[1]);
    if (read(out[0], &result, sizeof(result)) != (ssize_t)sizeof(result))
        result = 0;
    close(out[0]);
    waitpid(pid, NULL, 0);
    return result;
}

/* Two callers at once, one command after the other, with no time to think. */
struct worker {
    nacre *handle; /* NULL: bare */
    const nacre_run_options *options;
};

static void *work(void *user)
{
    const struct worker *w = user;
    for (int i = 0; i < WORK; i++) {
        if (w->handle)
            run_once(w->handle, w->options, "echo hi");
        else
            spawn_once("echo hi");
    }
    return NULL;
}

static double work_together(struct worker w)
{
    pthread_t threads[2];
    double start = now_ms();
    for (size_t i = 0; i < 2; i++) {
        if (pthread_create(&threads[i], NULL, work, &w) != 0)
            exit(1);
    }
    for (size_t i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    return 2 * WORK / (now_ms() - start) * 1e3;
}

int main(int argc, char **argv)
{
    static double bare[ROUNDS_MAX], cold[ROUNDS_MAX], warm[ROUNDS_MAX], memory[ROUNDS_MAX],
        sync[ROUNDS_MAX];
    static const char *const texts[] = {"echo hi", "git --version",
                                        "cd /tmp && x=$((6 * 7)); echo $x"};
    if (argc < 3)
        return 2;
    int rounds = argc > 3 ? (int)strtol(argv[3], NULL, 10) : 150;
    if (rounds < 1 || rounds > ROUNDS_MAX)
        return 2;
    char path[4096], work[4096], state[4096], other[4096];
    snprintf(path, sizeof(path), "%s/sync", argv[2]);
    snprintf(work, sizeof(work), "%s/ws/work", argv[2]);
    snprintf(state, sizeof(state), "%s/state", argv[2]);
    snprintf(other, sizeof(other), "%s/ws", argv[2]);
    if (mkdir(other, 0700) < 0 || mkdir(work, 0700) < 0 || mkdir(state, 0700) < 0)
        return 1;
    snprintf(other, sizeof(other), "%s/overlay", argv[2]);
    if (mkdir(other, 0700) < 0)
        return 1;
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    nacre_options options = NACRE_OPTIONS_INIT;
    options.launcher = argv[1];
    nacre *plain, *pooled;
    if (fd < 0 || nacre_open(&options, &plain, NULL) < 0)
        return 1;
    options.warm = POOL;
    if (nacre_open(&options, &pooled, NULL) < 0)
        return 1;
    nacre_run_options o = NACRE_RUN_OPTIONS_INIT, m = NACRE_RUN_OPTIONS_INIT;
    o.workspace = work;
    o.state_dir = m.state_dir = state;
    m.workspace = ":memory:";
    m.unrecorded = 1;
    double overlay = overlay_once(other);
    for (size_t t = 0; t < sizeof(texts) / sizeof(texts[0]); t++) {
        for (int i = -WARM_UP; i < rounds; i++) {
            /* The pool has time to be filled again: a caller thinks between two commands. */
            double a, b;
            usleep(12000);
            /* Whoever comes second finds the machine awake. */
            if (i % 2) {
                a = spawn_once(texts[t]);
                b = run_once(pooled, &o, texts[t]);
            } else {
                b = run_once(pooled, &o, texts[t]);
                a = spawn_once(texts[t]);
            }
            usleep(12000);
            double c = run_once(pooled, &m, texts[t]), d = run_once(plain, &o, texts[t]);
            double e = sync_once(fd);
            if (i < 0)
                continue;
            bare[i] = a;
            warm[i] = b;
            memory[i] = c;
            cold[i] = d;
            sync[i] = e;
        }
        double one = median(sync, rounds), base = median(bare, rounds);
        double w = median(warm, rounds), k = median(cold, rounds), h = median(memory, rounds);
        printf("%s\n", texts[t]);
        printf("  bare %.3f ms; one fdatasync %.3f, one overlay mount %.3f\n", base, one, overlay);
        printf("  pool      %.3f ms  %.2f x bare, %.2f x without sync and mount\n", w, w / base,
               (w - one - overlay) / base);
        printf("  in memory %.3f ms  %.2f x bare\n", h, h / base);
        printf("  no pool   %.3f ms  %.2f x bare, %.2f x without sync and mount\n", k, k / base,
               (k - one - overlay) / base);
    }
    double alone = work_together((struct worker){0});
    double together = work_together((struct worker){pooled, &o});
    double in_memory = work_together((struct worker){pooled, &m});
    printf("two callers at once, echo hi: bare %.0f a second, pool %.0f (%.2f), in memory %.0f "
           "(%.2f)\n",
           alone, together, together / alone, in_memory, in_memory / alone);
    nacre_close(plain);
    nacre_close(pooled);
    close(fd);
    return 0;
}

/*
 * Processes beyond the limit: `attack_spawn LIMIT SECONDS`. A parent is killed in the moment in
 * which the kernel has made its child and nobody was told of it yet. A child that nobody counts
 * shows by LIMIT others still having room beside it. Prints `GOT` and how many there were, or
 * `done`.
 */
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { CHILDREN_MAX = 64, INIT = 1 };

struct shared {
    atomic_int child, goes_on, orphan;
};

/* Whether so many children can live at once. */
static int has_room(int limit)
{
    pid_t children[CHILDREN_MAX];
    int count = 0;
    while (count < limit && (children[count] = fork()) >= 0) {
        if (children[count++] == 0) {
            pause();
            _exit(0);
        }
    }
    for (int i = 0; i < count; i++)
        kill(children[i], SIGKILL);
    for (int i = 0; i < count; i++)
        waitpid(children[i], NULL, 0);
    return count == limit;
}

static _Noreturn void be_orphaned(struct shared *s)
{
    for (int i = 0; i < 100 && getppid() != INIT; i++)
        usleep(100);
    if (getppid() != INIT || s->goes_on)
        _exit(0);
    s->orphan = (int)getpid();
    for (;;)
        pause();
}

static _Noreturn void be_parent(struct shared *s)
{
    long child = syscall(SYS_clone, SIGCHLD | CLONE_PARENT_SETTID, NULL, &s->child, NULL, NULL);
    if (child == 0)
        be_orphaned(s);
    s->goes_on = 1;
    if (child < 0)
        s->child = -1;
    for (;;)
        pause();
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    int limit = (int)strtol(argv[1], NULL, 10), got = 0;
    time_t end = time(NULL) + strtol(argv[2], NULL, 10);
    struct shared *s =
        mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (s == MAP_FAILED || limit < 1 || limit > CHILDREN_MAX)
        return 2;
    while (time(NULL) < end) {
        s->child = s->goes_on = s->orphan = 0;
        pid_t parent = fork();
        if (parent == 0)
            be_parent(s);
        if (parent < 0)
            continue;
        while (!s->child)
            ;
        kill(parent, SIGKILL);
        waitpid(parent, NULL, 0);
        usleep(12000);
        if (s->orphan && has_room(limit))
            got++;
        else if (s->orphan)
            kill(s->orphan, SIGKILL);
    }
    if (got)
        printf("GOT %d processes beyond the limit\n", got);
    printf("done\n");
    return 0;
}

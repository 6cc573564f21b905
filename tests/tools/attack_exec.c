/*
 * Every way to start a program: `attack_exec WAY PROGRAM [ARGUMENT…]`. Prints how it ended, or
 * that it could not be started. With `other PROGRAM …` its argv[0] is innocent; `race` swaps what a
 * path leads to, and the words, while it is executed.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static char **program;

static int copy_to_memory(const char *path)
{
    struct stat st;
    int from = open(path, O_RDONLY | O_CLOEXEC), to = memfd_create("innocent", 0);
    if (from < 0 || to < 0 || fstat(from, &st) < 0)
        return -1;
    for (off_t left = st.st_size; left > 0;) {
        ssize_t n = sendfile(to, from, NULL, (size_t)left);
        if (n <= 0)
            return -1;
        left -= n;
    }
    close(from);
    return to;
}

/* --- the ways, each in a process of its own -------------------------------------------------- */

static void plain(void)
{
    execve(program[0], program, environ);
}

static void other(void)
{
    const char *path = program[0];
    program[0] = (char *)"innocent";
    execve(path, program, environ);
}

static void by_descriptor(void)
{
    int fd = open(program[0], O_PATH | O_CLOEXEC);
    syscall(SYS_execveat, fd, "", program, environ, AT_EMPTY_PATH);
}

static void by_proc(void)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/self/fd/%d", open(program[0], O_RDONLY));
    program[0] = (char *)"innocent";
    execve(path, program, environ);
}

static void from_memory(void)
{
    int fd = copy_to_memory(program[0]);
    program[0] = (char *)"innocent";
    fexecve(fd, program, environ);
}

static void *in_thread(void *user)
{
    (void)user;
    plain();
    _exit(126);
}

static void threads(void)
{
    pthread_t thread;
    for (int i = 0; i < 4; i++)
        pthread_create(&thread, NULL, in_thread, NULL);
    for (;;)
        pause();
}

/* The first thread is gone when another one calls. */
static void *after_the_first(void *user)
{
    (void)user;
    usleep(20000);
    plain();
    _exit(126);
}

static void orphan_thread(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, after_the_first, NULL);
    pthread_exit(NULL);
}

/* One way after the other, whichever the kernel has. */
static int child_of_clone(void *user)
{
    (void)user;
    plain();
    _exit(126);
}

static pid_t start_by(const char *way)
{
    static char stack[1 << 16] __attribute__((aligned(16)));
    pid_t pid = -1;
    if (strcmp(way, "vfork") == 0) {
        pid = vfork();
        if (pid == 0) {
            execve(program[0], program, environ);
            _exit(126);
        }
    } else if (strcmp(way, "spawn") == 0) {
        if (posix_spawn(&pid, program[0], NULL, NULL, program, environ) != 0)
            return -1;
    } else if (strcmp(way, "clone") == 0) {
        pid = clone(child_of_clone, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGCHLD, NULL);
    } else if (strcmp(way, "clone-untraced") == 0) {
        pid = clone(child_of_clone, stack + sizeof(stack), CLONE_UNTRACED | SIGCHLD, NULL);
    } else if (strcmp(way, "clone-parent") == 0) {
        pid = clone(child_of_clone, stack + sizeof(stack), CLONE_PARENT | SIGCHLD, NULL);
    } else if (strcmp(way, "clone3") == 0) {
        struct clone_args args = {.exit_signal = SIGCHLD};
        pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));
        if (pid == 0)
            child_of_clone(NULL);
    }
    return pid;
}

/* --- races ----------------------------------------------------------------------------------- */

static char path[4096];
static char word[4096];

static void *swap_words(void *user)
{
    const char *denied = user;
    for (;;) {
        memcpy(path, "/bin/true", sizeof("/bin/true"));
        atomic_thread_fence(memory_order_seq_cst);
        memcpy(path, denied, strlen(denied) + 1);
        atomic_thread_fence(memory_order_seq_cst);
    }
    return NULL;
}

static void *swap_links(void *user)
{
    const char *denied = user;
    for (;;) {
        unlink("swap.new");
        if (symlink("/bin/true", "swap.new") == 0)
            rename("swap.new", "swap");
        if (symlink(denied, "swap.new") == 0)
            rename("swap.new", "swap");
    }
    return NULL;
}

/* Threads write to the path and to what it leads to; the call is made by another one. */
static int race(void)
{
    enum { ROUNDS = 300 };
    char *words[] = {word, program[1], NULL};
    for (int i = 0; i < ROUNDS; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            pthread_t thread;
            memcpy(path, "/bin/true", sizeof("/bin/true"));
            pthread_create(&thread, NULL, i % 2 ? swap_words : swap_links, program[0]);
            usleep((useconds_t)(i % 7) * 50);
            execve(i % 2 ? path : "swap", words, environ);
            _exit(126);
        }
        waitpid(pid, NULL, 0);
    }
    puts("done");
    return 0;
}

static void tell(int status)
{
    if (WIFSIGNALED(status))
        printf("killed by %d\n", WTERMSIG(status));
    else
        printf("exit %d\n", WEXITSTATUS(status));
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } ways[] = {
        {"plain", plain},          {"other", other},        {"descriptor", by_descriptor},
        {"proc", by_proc},         {"memory", from_memory}, {"threads", threads},
        {"orphan", orphan_thread},
    };
    if (argc < 3)
        return 2;
    program = argv + 2;
    if (strcmp(argv[1], "race") == 0)
        return race();
    int status = 0;
    pid_t pid = -1;
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        if (strcmp(ways[i].name, argv[1]) != 0)
            continue;
        pid = fork();
        if (pid == 0) {
            ways[i].run();
            _exit(126);
        }
    }
    if (pid < 0)
        pid = start_by(argv[1]);
    if (pid < 0)
        printf("not started: %s\n", strerror(errno));
    else if (waitpid(pid, &status, 0) == pid)
        tell(status);
    else
        sleep(1); /* somebody else's child */
    return 0;
}

/*
 * What ordinary programs do and the box must let them: each work prints `fine`, or what failed and
 * why.
 *
 *   trace      a debugger: starts a child that asks to be traced, steps it, reads its memory
 *   memfd      a file in memory, mapped; without seals where these are refused, as programs do it
 *   sysv       semaphores, shared memory and a message queue of System V, with a child
 *   mqueue     a POSIX message queue, with a child
 *   semaphore  a POSIX semaphore and a shared memory object by name
 *   flock      locks of flock(2) and fcntl(2) that keep a child out
 *   inotify    a watched directory tells of a new file
 *   sparse     a file with a hole, found by SEEK_HOLE
 *   events     epoll, eventfd, timerfd, signalfd
 *   limits     limits of its own can be lowered, and looked at
 *   pty        a pseudo terminal with a child on it
 *   threads N  N threads at once
 */
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <pthread.h>
#include <pty.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

/* Ends the program with the reason: the first thing that does not work is what we want to know. */
#define NEED(condition)                                                                            \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            printf("line %d: %s: %s\n", __LINE__, #condition, strerror(errno));                    \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

static void need_end(pid_t child)
{
    int status;
    NEED(waitpid(child, &status, 0) == child);
    NEED(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* --- other processes ---------------------------------------------------------------------- */

static volatile long traced_word = 4711;

static void work_trace(void)
{
    int status;
    pid_t child = fork();
    NEED(child >= 0);
    if (child == 0) {
        NEED(ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0);
        raise(SIGSTOP);
        _exit(traced_word == 42 ? 0 : 1);
    }
    NEED(waitpid(child, &status, 0) == child && WIFSTOPPED(status));
    errno = 0;
    NEED(ptrace(PTRACE_PEEKDATA, child, (void *)&traced_word, NULL) == 4711 && errno == 0);
    NEED(ptrace(PTRACE_POKEDATA, child, (void *)&traced_word, (void *)42L) == 0);
    NEED(ptrace(PTRACE_SINGLESTEP, child, NULL, NULL) == 0);
    NEED(waitpid(child, &status, 0) == child && WIFSTOPPED(status));
    NEED(ptrace(PTRACE_CONT, child, NULL, NULL) == 0);
    need_end(child);
}

static void *wait_at(void *barrier)
{
    pthread_barrier_wait(barrier);
    return NULL;
}

static void work_threads(const char *text)
{
    enum { MOST = 64 };
    pthread_t threads[MOST];
    pthread_barrier_t barrier;
    unsigned count = text ? (unsigned)atoi(text) : 8;
    NEED(count <= MOST && pthread_barrier_init(&barrier, NULL, count) == 0);
    for (unsigned i = 0; i < count; i++)
        NEED((errno = pthread_create(&threads[i], NULL, wait_at, &barrier)) == 0);
    for (unsigned i = 0; i < count; i++)
        NEED(pthread_join(threads[i], NULL) == 0);
}

static void work_pty(void)
{
    int master;
    char text[64] = "";
    pid_t child = forkpty(&master, NULL, NULL, NULL);
    NEED(child >= 0);
    if (child == 0)
        _exit(isatty(0) && write(1, "on a terminal", 13) == 13 ? 0 : 1);
    NEED(read(master, text, sizeof(text) - 1) > 0 && strncmp(text, "on a terminal", 13) == 0);
    need_end(child);
}

static void work_limits(void)
{
    struct rlimit limit;
    NEED(getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur > 8);
    limit.rlim_cur = 8;
    NEED(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    struct rlimit core;
    NEED(getrlimit(RLIMIT_STACK, &core) == 0 && getrlimit(RLIMIT_CORE, &core) == 0);
    NEED(setpriority(PRIO_PROCESS, 0, 5) == 0);
}

/* --- memory that is shared ---------------------------------------------------------------- */

static void work_memfd(void)
{
    int fd = memfd_create("works", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    bool sealing = fd >= 0;
    if (fd < 0 && errno == EINVAL)
        fd = memfd_create("works", MFD_CLOEXEC);
    NEED(fd >= 0 && ftruncate(fd, 8192) == 0);
    char *map = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    NEED(map != MAP_FAILED);
    memcpy(map + 4096, "shared", 7);
    NEED(munmap(map, 8192) == 0);
    char text[8] = "";
    NEED(pread(fd, text, 7, 4096) == 7 && strcmp(text, "shared") == 0);
    NEED(!sealing || (fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE) == 0 && write(fd, "x", 1) < 0));
}

union semun_arg {
    int val;
};

static void work_sysv(void)
{
    int sem = semget(IPC_PRIVATE, 1, 0600), shm = shmget(IPC_PRIVATE, 4096, 0600);
    int queue = msgget(IPC_PRIVATE, 0600);
    NEED(sem >= 0 && shm >= 0 && queue >= 0);
    char *map = shmat(shm, NULL, 0);
    NEED(map != (void *)-1);
    NEED(semctl(sem, 0, SETVAL, (union semun_arg){0}) == 0);
    struct {
        long type;
        char text[8];
    } message = {1, "post"};
    pid_t child = fork();
    NEED(child >= 0);
    if (child == 0) {
        memcpy(map, "shared", 7);
        NEED(msgsnd(queue, &message, sizeof(message.text), 0) == 0);
        struct sembuf up = {0, 1, 0};
        _exit(semop(sem, &up, 1) == 0 ? 0 : 1);
    }
    struct sembuf down = {0, -1, 0};
    NEED(semop(sem, &down, 1) == 0 && strcmp(map, "shared") == 0);
    memset(message.text, 0, sizeof(message.text));
    NEED(msgrcv(queue, &message, sizeof(message.text), 0, 0) > 0);
    NEED(strcmp(message.text, "post") == 0);
    need_end(child);
    NEED(shmdt(map) == 0 && shmctl(shm, IPC_RMID, NULL) == 0);
    NEED(semctl(sem, 0, IPC_RMID) == 0 && msgctl(queue, IPC_RMID, NULL) == 0);
}

static void work_mqueue(void)
{
    struct mq_attr attributes = {.mq_maxmsg = 4, .mq_msgsize = 64};
    mqd_t queue = mq_open("/works", O_CREAT | O_EXCL | O_RDWR, 0600, &attributes);
    NEED(queue != (mqd_t)-1);
    pid_t child = fork();
    NEED(child >= 0);
    if (child == 0)
        _exit(mq_send(queue, "post", 5, 0) == 0 ? 0 : 1);
    char text[64];
    NEED(mq_receive(queue, text, sizeof(text), NULL) == 5 && strcmp(text, "post") == 0);
    need_end(child);
    NEED(mq_close(queue) == 0 && mq_unlink("/works") == 0);
}

static void work_semaphore(void)
{
    sem_t *sem = sem_open("/works-sem", O_CREAT | O_EXCL, 0600, 0);
    int fd = shm_open("/works-shm", O_CREAT | O_EXCL | O_RDWR, 0600);
    NEED(sem != SEM_FAILED && fd >= 0 && ftruncate(fd, 4096) == 0);
    char *map = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    NEED(map != MAP_FAILED);
    pid_t child = fork();
    NEED(child >= 0);
    if (child == 0) {
        memcpy(map, "shared", 7);
        _exit(sem_post(sem) == 0 ? 0 : 1);
    }
    NEED(sem_wait(sem) == 0 && strcmp(map, "shared") == 0);
    need_end(child);
    NEED(sem_unlink("/works-sem") == 0 && shm_unlink("/works-shm") == 0);
}

/* --- files -------------------------------------------------------------------------------- */

static void work_flock(void)
{
    int fd = open("works.lock", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    NEED(fd >= 0 && flock(fd, LOCK_EX) == 0 && fcntl(fd, F_SETLK, &lock) == 0);
    pid_t child = fork();
    NEED(child >= 0);
    if (child == 0) {
        int other = open("works.lock", O_RDWR | O_CLOEXEC);
        NEED(other >= 0 && flock(other, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK);
        NEED(fcntl(other, F_SETLK, &lock) < 0);
        lock.l_pid = 0;
        NEED(fcntl(other, F_OFD_SETLK, &lock) < 0);
        _exit(0);
    }
    need_end(child);
    NEED(unlink("works.lock") == 0);
}

static void work_inotify(void)
{
    int fd = inotify_init1(IN_CLOEXEC);
    NEED(fd >= 0 && inotify_add_watch(fd, ".", IN_CREATE) >= 0);
    int file = open("works.new", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    NEED(file >= 0 && unlink("works.new") == 0);
    union {
        struct inotify_event event;
        char room[4096];
    } buffer;
    NEED(read(fd, &buffer, sizeof(buffer)) > 0 && strcmp(buffer.event.name, "works.new") == 0);
}

static void work_sparse(void)
{
    struct stat st;
    int fd = open("works.sparse", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    NEED(fd >= 0 && pwrite(fd, "end", 3, 64 << 20) == 3 && fstat(fd, &st) == 0);
    NEED(st.st_size == (64 << 20) + 3 && st.st_blocks < 2048);
    NEED(lseek(fd, 0, SEEK_HOLE) == 0 && lseek(fd, 0, SEEK_DATA) == 64 << 20);
    NEED(unlink("works.sparse") == 0);
}

static void work_events(void)
{
    int poll = epoll_create1(EPOLL_CLOEXEC), event = eventfd(0, EFD_CLOEXEC);
    int timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    NEED(sigprocmask(SIG_BLOCK, &set, NULL) == 0);
    int signals = signalfd(-1, &set, SFD_CLOEXEC);
    NEED(poll >= 0 && event >= 0 && timer >= 0 && signals >= 0);
    const int all[] = {event, timer, signals};
    for (size_t i = 0; i < 3; i++) {
        struct epoll_event want = {.events = EPOLLIN, .data.fd = all[i]};
        NEED(epoll_ctl(poll, EPOLL_CTL_ADD, all[i], &want) == 0);
    }
    const struct itimerspec soon = {.it_value = {.tv_nsec = 1000000}};
    uint64_t one = 1;
    NEED(timerfd_settime(timer, 0, &soon, NULL) == 0);
    NEED(write(event, &one, sizeof(one)) == sizeof(one) && kill(getpid(), SIGUSR1) == 0);
    usleep(20000);
    struct epoll_event got[4];
    NEED(epoll_wait(poll, got, 4, 1000) == 3);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*work)(void);
    } works[] = {
        {"trace", work_trace},         {"memfd", work_memfd},   {"sysv", work_sysv},
        {"mqueue", work_mqueue},       {"flock", work_flock},   {"inotify", work_inotify},
        {"semaphore", work_semaphore}, {"sparse", work_sparse}, {"events", work_events},
        {"limits", work_limits},       {"pty", work_pty},
    };
    const char *name = argc > 1 ? argv[1] : "";
    if (strcmp(name, "threads") == 0) {
        work_threads(argv[2]);
        puts("fine");
        return 0;
    }
    for (size_t i = 0; i < sizeof(works) / sizeof(works[0]); i++) {
        if (strcmp(name, works[i].name) == 0) {
            works[i].work();
            puts("fine");
            return 0;
        }
    }
    printf("no work '%s'\n", name);
    return 2;
}

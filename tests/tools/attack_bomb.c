/*
 * Things that grow until something stops them. They are for the inside alone, and every one has an
 * end of its own, so that a wall that is missing is seen and not felt.
 *
 *   fork HOW COUNT WORD     COUNT children at once that sleep 20 seconds, made by `fork`, `session`
 *                           (setsid), `double` (two forks), `vfork` or `clone` (as siblings);
 *                           prints how many there are
 *   threads COUNT           that many threads at once; prints how many there are
 *   memory HOW MEGABYTES    touches that much in one process (`one`), in threads (`threads`), by
 *                           `shared` mappings, a `memfd`, SysV shared memory (`shm`), memfds that
 *                           are under way in a socket (`flight`), the buffers of `pipes`, of
 *                           `sockets` and of connections (`tcp`), `semaphores`, `messages`, the
 *                           `tables` of pages that are only looked at, `names` of empty files in
 *                           /tmp; then prints `held` and how much, and waits 20 seconds
 *   files COUNT             opens that many descriptors; prints how many there are
 *   disk HOW PATH MEGABYTES one file (`one`), a `deleted` one, one that is `mapped`, deleted and
 *                           only mapped (`only-mapped`), `allocated`, under way in a socket
 *                           (`flight`), with times long ago (`old`), or made of a hole (`sparse`);
 *                           then prints `held` and waits 2 seconds
 *   burn SECONDS COUNT      COUNT processes that use the processor
 *   burn-short SECONDS      one after the other, each for some milliseconds, not waited for
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MEGABYTE = 1 << 20, WAIT_SECONDS = 20 };

static long number(const char *word)
{
    return strtol(word, NULL, 10);
}

static int held(long megabytes)
{
    printf("held %ld\n", megabytes);
    fflush(stdout);
    sleep(WAIT_SECONDS);
    return 0;
}

static int sleeper(void *unused)
{
    (void)unused;
    sleep(WAIT_SECONDS);
    _exit(0);
}

/* Apart, since what is shared with a child of vfork must not lie in registers. */
__attribute__((noinline)) static pid_t by_vfork(void)
{
    pid_t pid = vfork();
    if (pid == 0) {
        execl("/bin/sleep", "sleep", "20", (char *)NULL);
        _exit(1);
    }
    return pid;
}

/* The grandchild is nobody's; its parent says that it is there, and is gone. */
static pid_t by_two_forks(int count)
{
    pid_t pid = fork();
    if (pid != 0) {
        int status = 1;
        return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0 ? pid : -1;
    }
    setsid();
    pid_t second = fork();
    if (second == 0)
        sleeper(NULL);
    _exit(second > 0 && write(count, "x", 1) == 1 ? 0 : 1);
}

static pid_t by_clone(void)
{
    char *stack = malloc(65536);
    return stack ? clone(sleeper, stack + 65536, CLONE_PARENT | SIGCHLD, NULL) : -1;
}

static pid_t by_fork(int session)
{
    pid_t pid = fork();
    if (pid == 0) {
        if (session)
            setsid();
        sleeper(NULL);
    }
    return pid;
}

static int bomb_fork(char **argv)
{
    const char *how = argv[0];
    long made = 0, wanted = number(argv[1]);
    int count[2];
    if (pipe2(count, O_NONBLOCK) < 0)
        return 3;
    for (long i = 0; i < wanted; i++) {
        pid_t pid = strcmp(how, "vfork") == 0    ? by_vfork()
                    : strcmp(how, "double") == 0 ? by_two_forks(count[1])
                    : strcmp(how, "clone") == 0  ? by_clone()
                                                 : by_fork(strcmp(how, "session") == 0);
        if (pid < 0)
            break;
        made++;
    }
    if (strcmp(how, "double") == 0) {
        char byte;
        for (made = 0; read(count[0], &byte, 1) == 1;)
            made++;
    }
    printf("made %ld\n", made);
    return 0;
}

static void *thread_sleeper(void *unused)
{
    sleep(2);
    return unused;
}

static int bomb_threads(char **argv)
{
    long made = 0, wanted = number(argv[0]);
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 65536);
    pthread_t thread;
    while (made < wanted && pthread_create(&thread, &small, thread_sleeper, NULL) == 0)
        made++;
    printf("made %ld\n", made);
    return 0;
}

static void *toucher(void *unused)
{
    char *p = mmap(NULL, MEGABYTE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p != MAP_FAILED)
        memset(p, 1, MEGABYTE);
    return unused;
}

/* In nobody's hands: only the socket, which nobody reads, knows of the file. */
static void send_away(int fd)
{
    static int ends[2];
    char byte = 'x', control[CMSG_SPACE(sizeof(int))] = {0};
    struct iovec part = {&byte, 1};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control,
                             .msg_controllen = sizeof(control)};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(header), &fd, sizeof(fd));
    if (ends[1] || socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0)
        sendmsg(ends[1], &message, MSG_NOSIGNAL);
    close(fd);
}

/* A connection to oneself. */
static int tcp_pair(int ends[2])
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(address);
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    ends[1] = socket(AF_INET, SOCK_STREAM, 0);
    if (listener < 0 || ends[1] < 0 || bind(listener, (struct sockaddr *)&address, len) < 0 ||
        listen(listener, 1) < 0 || getsockname(listener, (struct sockaddr *)&address, &len) < 0 ||
        connect(ends[1], (struct sockaddr *)&address, len) < 0)
        return -1;
    ends[0] = accept(listener, NULL, NULL);
    close(listener);
    return ends[0] < 0 ? -1 : 0;
}

static long fill_buffers(long bytes, const char *how)
{
    long filled = 0;
    static char block[65536];
    while (filled < bytes) {
        int ends[2];
        if (how[0] == 't'   ? tcp_pair(ends)
            : how[0] == 's' ? socketpair(AF_UNIX, SOCK_STREAM, 0, ends)
                            : pipe(ends))
            break;
        int size = 4 * MEGABYTE;
        setsockopt(ends[1], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
        setsockopt(ends[0], SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
        if (how[0] == 'p')
            fcntl(ends[1], F_SETPIPE_SZ, MEGABYTE);
        fcntl(ends[1], F_SETFL, O_NONBLOCK);
        ssize_t n;
        while ((n = write(ends[1], block, sizeof(block))) > 0)
            filled += n;
    }
    return filled / MEGABYTE;
}

/* Memory that the kernel has for us, and shows as no process's. Each returns megabytes. */
static long fill_semaphores(long megabytes)
{
    enum { MOST = 32000, EACH_BYTES = 64 };
    long filled = 0;
    while (filled / MEGABYTE < megabytes && semget(IPC_PRIVATE, MOST, 0600) >= 0)
        filled += (long)MOST * EACH_BYTES;
    return filled / MEGABYTE;
}

static long fill_messages(long megabytes)
{
    static struct {
        long type;
        char text[4096];
    } message = {.type = 1};
    long filled = 0;
    while (filled / MEGABYTE < megabytes) {
        int queue = msgget(IPC_PRIVATE, 0600);
        if (queue < 0)
            break;
        while (msgsnd(queue, &message, sizeof(message.text), IPC_NOWAIT) == 0)
            filled += (long)sizeof(message.text);
    }
    return filled / MEGABYTE;
}

static long fill_tables(long megabytes)
{
    /* A table of 4 KB for every 2 MB in which one page is looked at. */
    const size_t step = (size_t)2 * MEGABYTE, size = (size_t)megabytes * 256 * step;
    volatile char *p =
        mmap(NULL, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED)
        return 0;
    madvise((void *)(uintptr_t)p, size, MADV_NOHUGEPAGE);
    for (size_t i = 0; i < size; i += step)
        (void)p[i];
    return megabytes;
}

static long fill_names(long megabytes)
{
    enum { EACH_BYTES = 1024 }; /* about, with its entry in the directory */
    long made = 0;
    for (; made < megabytes * (MEGABYTE / EACH_BYTES); made++) {
        char name[64];
        snprintf(name, sizeof(name), "/tmp/name-%ld", made);
        if (symlink("x", name) < 0)
            break;
    }
    return made * EACH_BYTES / MEGABYTE;
}

static int bomb_memory(char **argv)
{
    const char *how = argv[0];
    long megabytes = number(argv[1]);
    static const struct {
        const char *how;
        long (*fill)(long megabytes);
    } fills[] = {
        {"semaphores", fill_semaphores},
        {"messages", fill_messages},
        {"tables", fill_tables},
        {"names", fill_names},
    };
    for (size_t i = 0; i < sizeof(fills) / sizeof(fills[0]); i++) {
        if (strcmp(how, fills[i].how) == 0)
            return held(fills[i].fill(megabytes));
    }
    if (strcmp(how, "pipes") == 0 || strcmp(how, "sockets") == 0 || strcmp(how, "tcp") == 0)
        return held(fill_buffers(megabytes * MEGABYTE, how));
    long total = 0;
    int fd = strcmp(how, "memfd") == 0 ? memfd_create("bomb", 0) : -1;
    for (long i = 0; i < megabytes; i++) {
        char *p = MAP_FAILED;
        pthread_t thread;
        if (strcmp(how, "one") == 0)
            p = mmap(NULL, MEGABYTE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        else if (strcmp(how, "shared") == 0)
            p = mmap(NULL, MEGABYTE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        else if (strcmp(how, "shm") == 0)
            p = shmat(shmget(IPC_PRIVATE, MEGABYTE, 0600), NULL, 0);
        else if (strcmp(how, "memfd") == 0 && fallocate(fd, 0, i * MEGABYTE, MEGABYTE) < 0)
            break;
        else if (strcmp(how, "flight") == 0 && i % 32 == 0) {
            int away = memfd_create("flight", 0);
            if (fallocate(away, 0, 0, 32L * MEGABYTE) < 0)
                break;
            send_away(away);
        } else if (strcmp(how, "threads") == 0 && pthread_create(&thread, NULL, toucher, NULL) == 0)
            pthread_join(thread, NULL);
        /* shmat's failure is the same value as mmap's. */
        if (p != MAP_FAILED)
            memset(p, 1, MEGABYTE);
        else if (strcmp(how, "one") == 0 || how[0] == 's')
            break;
        /* Nothing keeps what was touched in view: for shm and shared only the objects count. */
        if (strcmp(how, "shm") == 0)
            shmdt(p);
        /* Slow enough for whoever looks on from time to time. */
        usleep(500);
        total++;
    }
    return held(total);
}

static int bomb_files(char **argv)
{
    long made = 0;
    while (made < number(argv[0]) && open("/dev/null", O_RDONLY) >= 0)
        made++;
    printf("made %ld\n", made);
    return 0;
}

enum { PIECE = 8 }; /* megabytes of a file where several are made */

static char block[MEGABYTE];

/* Files that are written through a mapping, and perhaps have no name and no descriptor any more. */
static void map_files(const char *path, long megabytes, int only)
{
    for (long i = 0; i < megabytes / PIECE; i++) {
        char name[512];
        snprintf(name, sizeof(name), "%s.%ld", path, i);
        int fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0644);
        if (fd < 0 || ftruncate(fd, (long)PIECE * MEGABYTE) < 0)
            return;
        char *map = mmap(NULL, (size_t)PIECE * MEGABYTE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        close(fd);
        if (only)
            unlink(name);
        for (long part = 0; map != MAP_FAILED && part < PIECE; part++)
            memcpy(map + part * MEGABYTE, block, MEGABYTE);
        if (map != MAP_FAILED)
            msync(map, (size_t)PIECE * MEGABYTE, MS_SYNC);
        usleep(10000);
    }
}

static void send_files_away(long megabytes)
{
    for (long i = 0; i < megabytes / PIECE; i++) {
        int fd = open(".", O_TMPFILE | O_RDWR, 0644);
        if (fd < 0 || fallocate(fd, 0, 0, (long)PIECE * MEGABYTE) < 0)
            return;
        send_away(fd);
        usleep(10000);
    }
}

static void write_file(const char *how, int fd, long megabytes)
{
    const struct timespec ago[2] = {{.tv_sec = 1}, {.tv_sec = 1}};
    for (long i = 0; i < megabytes; i++) {
        if (strcmp(how, "allocated") == 0 ? fallocate(fd, 0, i * MEGABYTE, MEGABYTE) < 0
                                          : write(fd, block, sizeof(block)) < 0)
            return;
        if (strcmp(how, "old") == 0)
            futimens(fd, ago);
        usleep(2000);
    }
}

static int bomb_disk(char **argv)
{
    const char *how = argv[0], *path = argv[1];
    long megabytes = number(argv[2]);
    memset(block, 1, sizeof(block));
    if (strstr(how, "mapped")) {
        map_files(path, megabytes, how[0] == 'o');
    } else if (strcmp(how, "flight") == 0) {
        send_files_away(megabytes);
    } else {
        int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0644);
        if (fd < 0) {
            perror(path);
            return 3;
        }
        if (strcmp(how, "deleted") == 0)
            unlink(path);
        if (strcmp(how, "sparse") != 0)
            write_file(how, fd, megabytes);
        else if (ftruncate(fd, megabytes * MEGABYTE) < 0)
            return 3;
    }
    printf("held\n");
    fflush(stdout);
    sleep(2);
    return 0;
}

static int bomb_burn_short(char **argv)
{
    time_t end = time(NULL) + number(argv[0]);
    /* Nobody's time is added to ours then. */
    signal(SIGCHLD, SIG_IGN);
    while (time(NULL) < end) {
        pid_t pid = fork();
        if (pid == 0) {
            struct timespec used = {0};
            while (used.tv_nsec < 3000000)
                clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
            _exit(0);
        }
        waitpid(pid, NULL, 0);
    }
    printf("held\n");
    return 0;
}

static int bomb_burn(char **argv)
{
    time_t end = time(NULL) + number(argv[0]);
    for (long i = 1; i < number(argv[1]); i++) {
        if (fork() == 0)
            break;
    }
    for (volatile unsigned long n = 0; time(NULL) < end;)
        n++;
    printf("held\n");
    return 0;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int words;
        int (*run)(char **words);
    } bombs[] = {
        {"fork", 2, bomb_fork},
        {"threads", 1, bomb_threads},
        {"memory", 2, bomb_memory},
        {"files", 1, bomb_files},
        {"disk", 3, bomb_disk},
        {"burn", 2, bomb_burn},
        {"burn-short", 1, bomb_burn_short},
    };
    for (size_t i = 0; argc > 1 && i < sizeof(bombs) / sizeof(bombs[0]); i++) {
        if (strcmp(argv[1], bombs[i].name) == 0 && argc - 2 >= bombs[i].words)
            return bombs[i].run(argv + 2);
    }
    fprintf(stderr, "usage: attack_bomb NAME WORDS...\n");
    return 2;
}

/*
 * Attacks with sockets. Each prints one line that begins with GOT for every thing it got, and
 * `done` when it has tried everything.
 *
 *   serve READY LOG KIND NAME [DIR]   (outside) listens on a unix socket of KIND stream, dgram or
 *                           seqpacket, in the file system; gives whoever connects a descriptor of
 *                           DIR; adds a line to LOG for each that reached it, and what it was given
 *   send KIND NAME          connects to such a socket, or sends to it
 *   take NAME PATH          takes a descriptor from there, and reads PATH through it
 *   give NAME FILE          gives a descriptor of the file
 *   tcp ADDRESS PORT        every protocol that makes a stream, with and without an early payload
 *   udp ADDRESS PORT        the same for datagrams
 *   uring PORT              a connection by io_uring, which no filter of calls sees
 *   raw                     raw and packet sockets, ICMP
 *   netlink                 netlink protocols other than the one for routes
 *   odd                     families that do not know network namespaces, or are all kernel
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <linux/netlink.h>
#include <linux/vm_sockets.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

static void got(const char *what)
{
    printf("GOT %s\n", what);
    fflush(stdout);
}

static int kind_of(const char *word)
{
    return word[0] == 'd' ? SOCK_DGRAM : word[1] == 'e' ? SOCK_SEQPACKET : SOCK_STREAM;
}

static struct sockaddr_un address_of(const char *name)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof(address.sun_path), "%s", name);
    return address;
}

static void send_descriptor(int to, int fd)
{
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
    sendmsg(to, &message, MSG_NOSIGNAL);
}

/* A descriptor that came with a message, or -1; the count of bytes is left in *ret_len. */
static int take_descriptor(int from, ssize_t *ret_len)
{
    char bytes[64], control[CMSG_SPACE(sizeof(int))] = {0};
    struct iovec part = {bytes, sizeof(bytes)};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control,
                             .msg_controllen = sizeof(control)};
    *ret_len = recvmsg(from, &message, 0);
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    int fd = -1;
    if (*ret_len >= 0 && header && header->cmsg_type == SCM_RIGHTS)
        memcpy(&fd, CMSG_DATA(header), sizeof(fd));
    return fd;
}

static void note(const char *path, const char *line)
{
    FILE *f = fopen(path, "ae");
    if (f) {
        fprintf(f, "%s\n", line);
        fclose(f);
    }
}

static int serve(char **argv)
{
    int type = kind_of(argv[2]);
    struct sockaddr_un address = address_of(argv[3]);
    int fd = socket(AF_UNIX, type, 0);
    int gift = argv[4] ? open(argv[4], O_RDONLY | O_DIRECTORY) : -1;
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ||
        (type != SOCK_DGRAM && listen(fd, 8) < 0)) {
        perror(argv[3]);
        return 3;
    }
    chmod(argv[3], 0777);
    note(argv[0], "ready");
    for (;;) {
        int peer = type == SOCK_DGRAM ? fd : accept(fd, NULL, NULL);
        ssize_t len;
        if (peer < 0)
            return 3;
        if (type != SOCK_DGRAM && gift >= 0)
            send_descriptor(peer, gift);
        int given = take_descriptor(peer, &len);
        note(argv[1], given >= 0 ? "reached, and given a descriptor" : "reached");
        if (given >= 0)
            close(given);
        if (peer != fd)
            close(peer);
    }
}

static int attack_send(char **argv)
{
    struct sockaddr_un address = address_of(argv[1]);
    int fd = socket(AF_UNIX, kind_of(argv[0]), 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0)
        got("a connection");
    if (fd >= 0 && send(fd, "x", 1, MSG_NOSIGNAL) == 1)
        got("a message there");
    fd = socket(AF_UNIX, SOCK_DGRAM, 0);
    if (sendto(fd, "x", 1, MSG_NOSIGNAL, (struct sockaddr *)&address, sizeof(address)) == 1)
        got("a datagram there");
    return 0;
}

static int attack_take(char **argv)
{
    struct sockaddr_un address = address_of(argv[0]);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    ssize_t len;
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
        return 0;
    got("a connection");
    int gift = take_descriptor(fd, &len);
    char bytes[256] = "";
    if (gift < 0)
        return 0;
    got("a descriptor");
    int file = openat(gift, argv[1], O_RDONLY);
    if (file >= 0 && read(file, bytes, sizeof(bytes) - 1) > 0)
        printf("GOT what it leads to: %s\n", bytes);
    return 0;
}

static int attack_give(char **argv)
{
    struct sockaddr_un address = address_of(argv[0]);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0), file = open(argv[1], O_RDWR);
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
        return 0;
    got("a connection");
    send_descriptor(fd, file);
    return 0;
}

static struct sockaddr_in inet_of(char **argv)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    inet_pton(AF_INET, argv[0], &address.sin_addr);
    address.sin_port = htons((uint16_t)strtol(argv[1], NULL, 10));
    return address;
}

static void try_inet(char **argv, int type, int protocol, const char *name)
{
    struct sockaddr_in address = inet_of(argv);
    struct sockaddr_in6 mapped = {.sin6_family = AF_INET6, .sin6_port = address.sin_port};
    mapped.sin6_addr.s6_addr[10] = mapped.sin6_addr.s6_addr[11] = 0xff;
    memcpy(mapped.sin6_addr.s6_addr + 12, &address.sin_addr, 4);
    for (int six = 0; six < 2; six++) {
        const struct sockaddr *to = six ? (void *)&mapped : (void *)&address;
        socklen_t len = six ? sizeof(mapped) : sizeof(address);
        for (int early = 0; early < 3; early++) {
            int fd = socket(six ? AF_INET6 : AF_INET, type, protocol);
            if (fd < 0)
                continue;
            int one = 1;
            struct timeval soon = {.tv_sec = 1};
            setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &soon, sizeof(soon));
            if (early == 2)
                setsockopt(fd, IPPROTO_TCP, TCP_FASTOPEN_CONNECT, &one, sizeof(one));
            ssize_t sent = -1;
            if (early == 1)
                sent = sendto(fd, "x", 1, MSG_FASTOPEN | MSG_NOSIGNAL, to, len);
            else if (connect(fd, to, len) == 0)
                sent = send(fd, "x", 1, MSG_NOSIGNAL) == 1 || errno == EPIPE || errno == ECONNRESET;
            /* A datagram goes out whether or not somebody is there: the listener knows. */
            if (type == SOCK_STREAM && sent == 1)
                printf("GOT %s%s\n", name, early == 1 ? " with an early payload" : "");
            close(fd);
        }
    }
}

static int attack_tcp(char **argv)
{
    try_inet(argv, SOCK_STREAM, 0, "tcp");
    try_inet(argv, SOCK_STREAM, IPPROTO_MPTCP, "mptcp");
    try_inet(argv, SOCK_STREAM, IPPROTO_SCTP, "sctp");
    try_inet(argv, SOCK_STREAM, 256 /* smc */, "smc");
    return 0;
}

static int attack_udp(char **argv)
{
    try_inet(argv, SOCK_DGRAM, 0, "udp");
    try_inet(argv, SOCK_DGRAM, IPPROTO_UDPLITE, "udplite");
    try_inet(argv, SOCK_DGRAM, IPPROTO_ICMP, "icmp");
    struct sockaddr_in address = inet_of(argv);
    int fd = socket(AF_INET, SOCK_DGRAM, 0), one = 1;
    setsockopt(fd, SOL_SOCKET, SO_BROADCAST, &one, sizeof(one));
    sendto(fd, "x", 1, 0, (struct sockaddr *)&address, sizeof(address));
    return 0;
}

static int attack_uring(char **argv)
{
    struct io_uring_params params = {0};
    char *words[] = {(char[]){"127.0.0.1"}, argv[0]};
    struct sockaddr_in address = inet_of(words);
    int ring = (int)syscall(SYS_io_uring_setup, 4, &params);
    if (ring < 0)
        return 0;
    got("a ring");
    char *queue = mmap(NULL, params.sq_off.array + params.sq_entries * sizeof(unsigned),
                       PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQ_RING);
    struct io_uring_sqe *entry = mmap(NULL, params.sq_entries * sizeof(*entry),
                                      PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQES);
    if (queue == MAP_FAILED || entry == MAP_FAILED)
        return 0;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    *entry = (struct io_uring_sqe){.opcode = IORING_OP_CONNECT,
                                   .fd = fd,
                                   .addr = (uint64_t)(uintptr_t)&address,
                                   .off = sizeof(address)};
    *(unsigned *)(void *)(queue + params.sq_off.array) = 0;
    __atomic_store_n((unsigned *)(void *)(queue + params.sq_off.tail), 1, __ATOMIC_RELEASE);
    syscall(SYS_io_uring_enter, ring, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0);
    if (send(fd, "x", 1, MSG_NOSIGNAL) == 1)
        got("a connection");
    return 0;
}

static int attack_raw(void)
{
    static const int families[] = {AF_INET, AF_INET6, AF_PACKET};
    static const int types[] = {SOCK_RAW, SOCK_DGRAM, SOCK_PACKET, SOCK_RDM};
    static const int protocols[] = {IPPROTO_ICMP, IPPROTO_RAW, IPPROTO_TCP, 0x0300 /* all */,
                                    IPPROTO_ICMPV6};
    for (size_t f = 0; f < 3; f++) {
        for (size_t t = 0; t < 4; t++) {
            for (size_t p = 0; p < sizeof(protocols) / sizeof(protocols[0]); p++) {
                int fd = socket(families[f], types[t], protocols[p]);
                if (fd >= 0)
                    printf("GOT family %d type %d protocol %d\n", families[f], types[t],
                           protocols[p]);
                close(fd);
            }
        }
    }
    return 0;
}

static int attack_netlink(void)
{
    static const int types[] = {SOCK_RAW, SOCK_DGRAM, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK};
    for (int protocol = 0; protocol < 32; protocol++) {
        for (size_t t = 0; t < 3; t++) {
            int fd = socket(AF_NETLINK, types[t], protocol);
            if (fd >= 0 && protocol != NETLINK_ROUTE)
                printf("GOT netlink %d\n", protocol);
            if (fd >= 0)
                close(fd);
            /* The high half of an argument is not the kernel's to look at. */
            fd = (int)syscall(SYS_socket, AF_NETLINK | 1UL << 40, types[t],
                              (unsigned long)protocol | 1UL << 40);
            if (fd >= 0 && protocol != NETLINK_ROUTE)
                printf("GOT netlink %d with high bits\n", protocol);
            if (fd >= 0)
                close(fd);
        }
    }
    return 0;
}

static int attack_odd(void)
{
    static const int types[] = {SOCK_STREAM, SOCK_DGRAM, SOCK_RAW, SOCK_RDM, SOCK_SEQPACKET};
    for (int family = 0; family < 64; family++) {
        if (family == AF_UNIX || family == AF_INET || family == AF_INET6 || family == AF_NETLINK)
            continue;
        for (size_t t = 0; t < 5; t++) {
            int pair[2];
            if (socketpair(family, types[t], 0, pair) == 0)
                printf("GOT a pair of family %d\n", family);
            for (int protocol = 0; protocol < 4; protocol++) {
                int fd = socket(family, types[t], protocol);
                if (fd >= 0)
                    printf("GOT family %d type %d protocol %d\n", family, types[t], protocol);
                if (fd >= 0)
                    close(fd);
            }
        }
    }
    static const unsigned machines[] = {VMADDR_CID_HYPERVISOR, VMADDR_CID_LOCAL, VMADDR_CID_HOST};
    for (size_t i = 0; i < 3; i++) {
        struct sockaddr_vm address = {
            .svm_family = AF_VSOCK, .svm_cid = machines[i], .svm_port = 22};
        int fd = socket(AF_VSOCK, SOCK_STREAM | SOCK_NONBLOCK, 0);
        if (fd >= 0 && (connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0 ||
                        errno == EINPROGRESS))
            got("a way to the hypervisor");
    }
    return 0;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int words;
        int (*run)(char **words);
        int (*run_plain)(void);
    } attacks[] = {
        {"serve", 4, serve, NULL},
        {"send", 2, attack_send, NULL},
        {"take", 2, attack_take, NULL},
        {"give", 2, attack_give, NULL},
        {"tcp", 2, attack_tcp, NULL},
        {"udp", 2, attack_udp, NULL},
        {"uring", 1, attack_uring, NULL},
        {"raw", 0, NULL, attack_raw},
        {"netlink", 0, NULL, attack_netlink},
        {"odd", 0, NULL, attack_odd},
    };
    for (size_t i = 0; argc > 1 && i < sizeof(attacks) / sizeof(attacks[0]); i++) {
        if (strcmp(argv[1], attacks[i].name) != 0 || argc - 2 < attacks[i].words)
            continue;
        int status = attacks[i].run ? attacks[i].run(argv + 2) : attacks[i].run_plain();
        if (status == 0)
            printf("done\n");
        return status;
    }
    fprintf(stderr, "usage: attack_net NAME WORDS...\n");
    return 2;
}

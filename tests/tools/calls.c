/*
 * System calls that must not work inside. Prints GOT and the name for each that does, then `done`.
 * With the argument `abi` it makes one call of the i386 ABI instead, which must end it.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static void refused(const char *name, long result, int error)
{
    if (result != -1 || errno != error)
        printf("GOT %s (%ld, %s)\n", name, result, strerror(errno));
}

static void try_core(const char *name, const struct rlimit *limit)
{
    struct rlimit before = {0}, is = {0};
    getrlimit(RLIMIT_CORE, &before);
    syscall(SYS_prlimit64, 0, RLIMIT_CORE, limit, NULL);
    setrlimit(RLIMIT_CORE, limit);
    syscall(SYS_setrlimit, RLIMIT_CORE | 0xF00000000, limit);
    getrlimit(RLIMIT_CORE, &is);
    if (is.rlim_cur != before.rlim_cur || is.rlim_max != before.rlim_max)
        printf("GOT %s: the limit on core files is %llu\n", name, (unsigned long long)is.rlim_cur);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "abi") == 0) {
#ifdef __x86_64__
        long result = 20; /* getpid */
        __asm__ volatile("int $0x80" : "+a"(result) : : "memory", "r8", "r9", "r10", "r11");
        printf("GOT a call of another ABI (%ld)\n", result);
#endif
        return 0;
    }
    char parameters[256] = {0};
    refused("io_uring_setup", syscall(425, 8, parameters), ENOSYS);
    refused("io_uring_enter", syscall(426, 0, 0, 0, 0, NULL, 0), ENOSYS);
    refused("io_uring_register", syscall(427, 0, 0, NULL, 0), ENOSYS);
    refused("keyctl", syscall(SYS_keyctl, 0, -3, 0), ENOSYS);
    refused("add_key", syscall(SYS_add_key, "user", "a", "b", 1, -3), ENOSYS);
    refused("request_key", syscall(SYS_request_key, "user", "a", NULL, -3), ENOSYS);
#ifdef __x86_64__
    refused("a call of the x32 ABI", syscall(0x40000000 | SYS_getpid), ENOSYS);
#endif
    for (int family = 0; family < 64; family++) {
        if (family == AF_UNIX || family == AF_INET || family == AF_INET6 || family == AF_NETLINK)
            continue;
        /* The high half is not the kernel's to look at, and must not fool the filter. */
        refused("a socket family", syscall(SYS_socket, 0xF00000000UL | (unsigned)family, 2, 0),
                EAFNOSUPPORT);
    }
    static const struct rlimit none = {0, 0};
    try_core("in low memory", &none);
    struct rlimit *high = mmap((void *)0x700000000UL, 4096, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    if (high != MAP_FAILED)
        try_core("at an address whose low half is 0", high);
    puts("done");
    return 0;
}

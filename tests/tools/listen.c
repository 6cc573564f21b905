/*
 * listen READY LOG tcp | udp | unix PATH | abstract NAME
 *
 * Listens, writes the port (or `ready`) to the file READY, and adds the line `reached` to LOG
 * whenever somebody connects or sends. Runs until it is killed.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static void fail(const char *what)
{
    perror(what);
    _exit(1);
}

static int listen_inet(int type, int *ret_port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(address);
    int fd = socket(AF_INET, type, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, len) < 0 ||
        getsockname(fd, (struct sockaddr *)&address, &len) < 0)
        fail("socket");
    *ret_port = ntohs(address.sin_port);
    return fd;
}

static int listen_unix(const char *name, int abstract)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(name) + 2 > sizeof(address.sun_path))
        fail("name");
    memcpy(address.sun_path + abstract, name, strlen(name));
    socklen_t len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + abstract + strlen(name));
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, len) < 0)
        fail("bind");
    return fd;
}

static void write_line(const char *path, const char *mode, const char *line)
{
    FILE *f = fopen(path, mode);
    if (!f || fprintf(f, "%s\n", line) < 0 || fclose(f) != 0)
        fail(path);
}

int main(int argc, char **argv)
{
    if (argc < 4) {
        fprintf(stderr, "usage: listen READY LOG tcp | udp | unix PATH | abstract NAME\n");
        return 2;
    }
    int port = 0, fd;
    int udp = strcmp(argv[3], "udp") == 0;
    if (udp || strcmp(argv[3], "tcp") == 0)
        fd = listen_inet(udp ? SOCK_DGRAM : SOCK_STREAM, &port);
    else if (argc == 5)
        fd = listen_unix(argv[4], strcmp(argv[3], "abstract") == 0);
    else
        return 2;
    if (!udp && listen(fd, 16) < 0)
        fail("listen");

    char ready[32] = "ready";
    if (port)
        snprintf(ready, sizeof(ready), "%d", port);
    write_line(argv[1], "we", ready);
    for (;;) {
        char byte;
        if (udp) {
            if (recv(fd, &byte, 1, 0) < 0)
                fail("recv");
        } else {
            int peer = accept(fd, NULL, NULL);
            if (peer < 0)
                fail("accept");
            close(peer);
        }
        write_line(argv[2], "ae", "reached");
    }
}

/* The network of the inside: its own loopback, and nothing else. */
#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "sandbox/launch/launch.h"

int net_loopback_up(struct launch *l)
{
    FD_CLEANUP int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    struct ifreq request = {0};
    snprintf(request.ifr_name, sizeof(request.ifr_name), "lo");
    request.ifr_flags = IFF_UP;
    if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &request) < 0)
        return err_errno(&l->err, -errno, "cannot start the loopback network");
    return 0;
}

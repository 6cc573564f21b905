/* Every way to more rights, closed for good; see L4 in launch.h. */
#include <errno.h>
#include <linux/capability.h>
#include <linux/keyctl.h>
#include <linux/securebits.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sandbox/launch/launch.h"

static int set_capabilities(uint32_t mask)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct sets[2] = {{.effective = mask, .permitted = mask}};
    return syscall(SYS_capset, &header, sets) < 0 ? -errno : 0;
}

/* In landlock strength nobody has the right to; and there is nothing in the sets to begin with. */
static int drop_capabilities(bool full)
{
    for (int cap = 0; full && prctl(PR_CAPBSET_READ, cap) >= 0; cap++) {
        if (prctl(PR_CAPBSET_DROP, cap) < 0)
            return -errno;
    }
    if (full && prctl(PR_SET_SECUREBITS,
                      SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |
                          SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED |
                          SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED) < 0)
        return -errno;
    if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0)
        return -errno;
    return set_capabilities(0);
}

int privilege_drop(struct launch *l)
{
    /* An empty session keyring in place of the caller's. Without the call there are no keys. */
    if (syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL) < 0 && errno != ENOSYS)
        return err_errno(&l->err, -errno, "cannot make a session keyring");
    int r = drop_capabilities(l->full);
    if (r < 0)
        return err_errno(&l->err, r, "cannot drop capabilities");
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return err_errno(&l->err, -errno, "cannot set no_new_privs");
    /* The program has our uid: keep it out of our memory and descriptors. */
    if (prctl(PR_SET_DUMPABLE, 0) < 0)
        return err_errno(&l->err, -errno, "cannot close /proc/1");
    return 0;
}

/*
 * For root's guard: it kills, and counts what the inside has written; more would only be more to
 * lose. The inside's user stays at hand as the saved one, for what is made in its name.
 */
void privilege_shed(const struct launch *l)
{
    if (setresgid((gid_t)-1, (gid_t)-1, l->identity.outer_gid) < 0 ||
        setresuid((uid_t)-1, (uid_t)-1, l->identity.outer_uid) < 0)
        return; /* then files in memory are refused, and no more */
    set_capabilities(1U << CAP_KILL | 1U << CAP_DAC_READ_SEARCH);
}

/* Every way to more rights, closed for good; see L4 in launch.h. */
#include <errno.h>
#include <linux/capability.h>
#include <linux/keyctl.h>
#include <linux/securebits.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sandbox/launch/launch.h"

static int set_capabilities(uint32_t permitted, uint32_t effective)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct has[2] = {{0}}, sets[2] = {{0}};
    if (syscall(SYS_capget, &header, has) < 0)
        return -errno;
    /* Whoever lacks one of them is to lose the others all the same. */
    sets[0].permitted = permitted & has[0].permitted;
    sets[0].effective = effective & has[0].permitted;
    return syscall(SYS_capset, &header, sets) < 0 ? -errno : 0;
}

/* In landlock strength nobody has the right to; and there is nothing in the sets to begin with. */
static int bound_capabilities(bool full)
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
    return prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0 ? -errno : 0;
}

int privilege_bound(struct launch *l)
{
    /* An empty session keyring in place of the caller's. Without the call there are no keys. */
    if (syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL) < 0 && errno != ENOSYS)
        return err_errno(&l->err, -errno, "cannot make a session keyring");
    int r = bound_capabilities(l->full);
    return r < 0 ? err_errno(&l->err, r, "cannot bound capabilities") : 0;
}

int privilege_drop(struct launch *l)
{
    int r = set_capabilities(0, 0);
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
    privilege_override(false);
}

/*
 * The topmost control group may be written by nobody, root included, without this right. It is kept
 * aside, and only who is root's guard has it.
 */
void privilege_override(bool on)
{
    const uint32_t needed = 1U << CAP_KILL | 1U << CAP_DAC_READ_SEARCH;
    const uint32_t aside = 1U << CAP_DAC_OVERRIDE;
    set_capabilities(needed | aside, on ? needed | aside : needed);
}

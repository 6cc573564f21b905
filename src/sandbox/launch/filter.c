/*
 * The seccomp program: first whether it is the machine's own way of calling (the numbers of others
 * mean something else), then a search tree over the numbers, then the checks of arguments. The tree
 * has a dozen steps where a list would have hundreds, and the kernel remembers which calls are
 * always allowed and asks no more.
 */
#include "sandbox/launch/filter.h"

#include <errno.h>
#include <linux/audit.h>
#include <sys/prctl.h>

#include "sandbox/kernel_calls.h"
#include "sandbox/launch/launch.h"

#if defined(__x86_64__)
#define NATIVE_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define NATIVE_ARCH AUDIT_ARCH_AARCH64
#else
#error "unknown architecture: its number in <linux/audit.h> is needed here"
#endif

#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5)
#endif

#define X32_BIT 0x40000000U

void filter_emit(struct filter_code *c, struct sock_filter instruction)
{
    if (c->len < FILTER_CODE_MAX)
        c->code[c->len++] = instruction;
}

void filter_load(struct filter_code *c, size_t offset)
{
    filter_emit(c, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (unsigned)offset));
}

void filter_return(struct filter_code *c, uint32_t answer)
{
    filter_emit(c, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, answer));
}

/* --- the search tree ---------------------------------------------------------------------- */

/* Calls from `first` on, up to the next range, that are treated alike. */
struct range {
    uint32_t first;
    uint32_t answer;
    size_t check; /* as in struct filter */
};

static size_t find_ranges(const struct filter *f, struct range *ranges)
{
    size_t count = 0;
    for (uint32_t number = 0; number < FILTER_CALLS_MAX; number++) {
        const struct range *last = count ? &ranges[count - 1] : NULL;
        if (last && last->answer == f->answer[number] && last->check == f->check[number])
            continue;
        ranges[count++] = (struct range){number, f->answer[number], f->check[number]};
    }
    return count;
}

/* A leaf that leads to checks is a jump whose way is known only when the tree is whole. */
static void emit_leaf(struct filter_code *c, const struct range *range)
{
    if (range->check)
        filter_emit(c, (struct sock_filter)BPF_STMT(BPF_JMP | BPF_JA, (unsigned)range->check));
    else
        filter_return(c, range->answer);
}

/* As many instructions as emit_tree makes of so many ranges, if all its jumps are short. */
static size_t tree_len(size_t count)
{
    return 2 * count - 1;
}

/* A comparison by itself jumps 255 instructions far at most; farther with another behind it. */
static void emit_tree(struct filter_code *c, const struct range *ranges, size_t count)
{
    if (count == 1) {
        emit_leaf(c, ranges);
        return;
    }
    /* At or above the middle: behind the left half. */
    size_t middle = count / 2, left = tree_len(middle);
    bool near = left <= UINT8_MAX;
    filter_emit(c, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, ranges[middle].first,
                                                near ? (uint8_t)left : 0, near ? 0 : 1));
    size_t jump = c->len;
    if (!near)
        filter_emit(c, (struct sock_filter)BPF_STMT(BPF_JMP | BPF_JA, 0));
    emit_tree(c, ranges, middle);
    if (!near)
        c->code[jump].k = (unsigned)(c->len - jump - 1);
    emit_tree(c, ranges + middle, count - middle);
}

static void assemble(const struct filter *f, struct filter_code *c)
{
    struct range ranges[FILTER_CALLS_MAX];
    filter_load(c, offsetof(struct seccomp_data, arch));
    filter_emit(c, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, NATIVE_ARCH, 1, 0));
    filter_return(c, SECCOMP_RET_KILL_PROCESS);
    filter_load(c, offsetof(struct seccomp_data, nr));
    /* x32, and whatever is newer than the lists. */
    filter_emit(c, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, FILTER_CALLS_MAX, 0, 1));
    filter_return(c, FILTER_REFUSE(ENOSYS));
    size_t start = c->len;
    emit_tree(c, ranges, find_ranges(f, ranges));
    size_t end = c->len;
    /* Every check ends with an answer, so those that follow each other do not mix. */
    for (size_t i = 0; i < f->checks.len; i++)
        filter_emit(c, f->checks.code[i]);
    for (size_t i = start; i < end; i++) {
        /* Jumps within the tree were settled above: they stand behind a comparison that steps over
         * them. */
        bool inner = i > start && BPF_OP(c->code[i - 1].code) == BPF_JGE &&
                     BPF_CLASS(c->code[i - 1].code) == BPF_JMP && c->code[i - 1].jf == 1;
        if (c->code[i].code == (BPF_JMP | BPF_JA) && !inner)
            c->code[i].k = (unsigned)(end + c->code[i].k - 1 - i - 1);
    }
}

int filter_install(struct launch *l)
{
    static struct filter filter;
    static struct filter_code program;
    filter.privileged = l->privileged;
    for (size_t i = 0; i < FILTER_CALLS_MAX; i++)
        filter.answer[i] = FILTER_REFUSE(ENOSYS);
    for (size_t i = 0; i < l->plan.count; i++) {
        const struct plan_step *step = &l->plan.steps[i];
        if (step->kind == PLAN_FILTER && filter_add_rule(&filter, step->text) < 0)
            return err_set(&l->err, -EINVAL, "unknown filter '%s'", step->text);
    }
    filter_add_families(&filter);
    assemble(&filter, &program);

    struct sock_fprog code = {.len = (unsigned short)program.len, .filter = program.code};
    const unsigned flags = SECCOMP_FILTER_FLAG_NEW_LISTENER;
    int listener = kernel_seccomp(SECCOMP_SET_MODE_FILTER,
                                  flags | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, &code);
    if (listener < 0 && errno == EINVAL) /* before Linux 5.19 */
        listener = kernel_seccomp(SECCOMP_SET_MODE_FILTER, flags, &code);
    if (listener < 0)
        return err_errno(&l->err, -errno, "cannot install the filter of system calls");
    return listener;
}

/* See trace.h. */
#include "sandbox/launch/trace.h"

#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#define OPTIONS                                                                                    \
    (PTRACE_O_EXITKILL | PTRACE_O_TRACESECCOMP | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |        \
     PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC)

/* --- the table: open addressing, no more than half full ------------------------------------- */

static struct trace_slot *find(struct trace *t, pid_t id)
{
    size_t at = (uint32_t)id * UINT32_C(2654435761) >> 17;
    while (t->slots[at % TRACE_SLOTS].id && t->slots[at % TRACE_SLOTS].id != id)
        at++;
    return &t->slots[at % TRACE_SLOTS];
}

static struct trace_slot *add(struct trace *t, pid_t id)
{
    struct trace_slot *slot = find(t, id);
    if (!slot->id) {
        slot->id = id;
        t->used++;
    }
    return slot;
}

/* Those behind it that would no longer be found move up. */
static void drop(struct trace *t, struct trace_slot *slot)
{
    size_t hole = (size_t)(slot - t->slots);
    *slot = (struct trace_slot){0};
    t->used--;
    for (size_t at = (hole + 1) % TRACE_SLOTS; t->slots[at].id; at = (at + 1) % TRACE_SLOTS) {
        struct trace_slot moved = t->slots[at];
        t->slots[at] = (struct trace_slot){0};
        *find(t, moved.id) = moved;
    }
}

/* --- births and deaths ---------------------------------------------------------------------- */

static void release(struct trace *t, struct trace_slot *slot)
{
    if (!slot->id || !slot->spawns)
        return;
    slot->spawns = false;
    t->reserved--;
    if (!slot->lives)
        drop(t, slot);
}

/* Told by its parent's stop, or seen by its own: whichever comes first, and both may be missing. */
static void born(struct trace *t, pid_t pid, bool told)
{
    struct trace_slot *slot = add(t, pid);
    slot->told = slot->told || told;
    if (slot->lives)
        return;
    slot->lives = true;
    t->processes++;
    if (t->processes > t->peak)
        t->peak = t->processes;
}

/* The call does not happen, and its answer is this error. */
static void refuse_call(pid_t thread, int error)
{
#if defined(__x86_64__)
    struct user_regs_struct registers;
    struct iovec all = {.iov_base = &registers, .iov_len = sizeof(registers)};
    ptrace(PTRACE_GETREGSET, thread, (void *)NT_PRSTATUS, &all);
    registers.orig_rax = (__typeof__(registers.orig_rax))-1;
    registers.rax = (__typeof__(registers.rax))-error;
    ptrace(PTRACE_SETREGSET, thread, (void *)NT_PRSTATUS, &all);
#elif defined(__aarch64__)
    struct user_regs_struct registers;
    struct iovec all = {.iov_base = &registers, .iov_len = sizeof(registers)};
    int none = -1;
    struct iovec call = {.iov_base = &none, .iov_len = sizeof(none)};
    ptrace(PTRACE_GETREGSET, thread, (void *)NT_PRSTATUS, &all);
    registers.regs[0] = (__typeof__(registers.regs[0]))-error;
    ptrace(PTRACE_SETREGSET, thread, (void *)NT_PRSTATUS, &all);
    ptrace(PTRACE_SETREGSET, thread, (void *)NT_ARM_SYSTEM_CALL, &call);
#else
#error "unknown architecture: how a call is refused is needed here"
#endif
}

/* The program itself is there, too, and is not one of its children. */
static bool has_room(const struct trace *t)
{
    return (!t->limit || t->processes + t->reserved < t->limit + 1) && t->used < TRACE_SLOTS / 2;
}

static void agree(struct trace *t, pid_t thread)
{
    add(t, thread)->spawns = true;
    t->reserved++;
    ptrace(PTRACE_CONT, thread, NULL, NULL);
}

static void refuse(struct trace *t, pid_t thread)
{
    t->refused++;
    refuse_call(thread, EAGAIN);
    ptrace(PTRACE_CONT, thread, NULL, NULL);
}

/* Some who still count are already dying, so there may be room in a moment. */
static void answer(struct trace *t, pid_t thread)
{
    release(t, find(t, thread)); /* the last one failed */
    if (has_room(t))
        agree(t, thread);
    else if (t->waiting_count < TRACE_WAITING && !t->stays_full)
        t->waiting[t->waiting_count++] = thread;
    else
        refuse(t, thread);
}

/* Far more than anybody needs: none waits. */
static void answer_thread(struct trace *t, pid_t thread)
{
    if (!t->limit || t->threads < t->limit * TRACE_THREADS_A_PROCESS + TRACE_THREADS_LEAST)
        t->threads++;
    else
        refuse_call(thread, EAGAIN);
    ptrace(PTRACE_CONT, thread, NULL, NULL);
}

void trace_refuse_waiting(struct trace *t)
{
    if (t->waiting_count && ++t->waited < TRACE_PATIENCE_TIMES)
        return;
    for (size_t i = 0; i < t->waiting_count; i++)
        refuse(t, t->waiting[i]);
    t->stays_full = t->waiting_count > 0;
    t->waiting_count = 0;
    t->waited = 0;
}

static void serve_waiting(struct trace *t)
{
    while (t->waiting_count && has_room(t)) {
        pid_t first = t->waiting[0];
        memmove(t->waiting, t->waiting + 1, --t->waiting_count * sizeof(t->waiting[0]));
        agree(t, first);
    }
}

/* One who wants a process wants it no more. */
static void stop_waiting(struct trace *t, pid_t thread)
{
    size_t kept = 0;
    for (size_t i = 0; i < t->waiting_count; i++) {
        if (t->waiting[i] != thread)
            t->waiting[kept++] = t->waiting[i];
    }
    t->waiting_count = kept;
    release(t, find(t, thread));
}

static bool died(struct trace *t, pid_t pid, int status)
{
    stop_waiting(t, pid);
    programs_forget(&t->programs, pid);
    struct trace_slot *slot = find(t, pid);
    bool process = slot->id != 0;
    if (process)
        programs_ended(&t->programs, slot->program, status);
    if (!process || !slot->told)
        t->early[t->early_next++ % TRACE_EARLY] = pid;
    if (!process && t->threads)
        t->threads--;
    if (process) {
        drop(t, slot);
        t->processes--;
        t->stays_full = false;
        t->waited = 0;
    }
    serve_waiting(t);
    return process;
}

/* Only those who asked make processes; the others, threads. */
static void note_birth(struct trace *t, pid_t parent)
{
    unsigned long child = 0;
    struct trace_slot *slot = find(t, parent);
    if (!slot->id || !slot->spawns)
        return;
    release(t, slot);
    if (ptrace(PTRACE_GETEVENTMSG, parent, NULL, &child) < 0)
        return;
    for (size_t i = 0; i < TRACE_EARLY; i++) {
        if (t->early[i] == (pid_t)child) {
            t->early[i] = 0;
            return; /* its end was told before its birth */
        }
    }
    born(t, (pid_t)child, true);
}

/* --- programs ------------------------------------------------------------------------------- */

static void send_on(pid_t pid, enum programs_outcome outcome)
{
    if (outcome == PROGRAMS_GOES)
        ptrace(PTRACE_CONT, pid, NULL, NULL);
    else if (outcome == PROGRAMS_DIES)
        kill(pid, SIGKILL);
}

/*
 * It has the number of its process now, whichever thread called, and that thread's own number is
 * gone without a word; so is the first thread, whose number it has.
 */
static void note_exec(struct trace *t, pid_t pid)
{
    unsigned long former = 0;
    stop_waiting(t, pid);
    if (ptrace(PTRACE_GETEVENTMSG, pid, NULL, &former) == 0 && (pid_t)former != pid) {
        stop_waiting(t, (pid_t)former);
        programs_forget(&t->programs, (pid_t)former);
        if (t->threads)
            t->threads--;
    }
    if (!find(t, pid)->lives)
        born(t, pid, false);
    send_on(pid, programs_show(&t->programs, pid, &find(t, pid)->program, false));
}

void trace_serve_programs(struct trace *t)
{
    enum programs_outcome outcome;
    pid_t pid;
    while ((pid = programs_answer(&t->programs, &outcome)) != 0)
        send_on(pid, outcome);
    for (size_t count = t->programs.waiting_count; count; count--) {
        pid = programs_next(&t->programs);
        if (!pid)
            break;
        outcome = programs_show(&t->programs, pid, &find(t, pid)->program, true);
        send_on(pid, outcome);
        if (t->programs.again)
            break;
    }
}

bool trace_handle(struct trace *t, pid_t pid, int status)
{
    if (!WIFSTOPPED(status))
        return died(t, pid, status);
    int signal_number = WSTOPSIG(status);
    switch (status >> 16) {
    case 0: /* a signal on its way */
        ptrace(PTRACE_CONT, pid, NULL, (void *)(long)signal_number);
        return false;
    case PTRACE_EVENT_SECCOMP: {
        unsigned long wish = 0;
        if (ptrace(PTRACE_GETEVENTMSG, pid, NULL, &wish) == 0 && wish == TRACE_THREAD)
            answer_thread(t, pid);
        else
            answer(t, pid);
        return false;
    }
    case PTRACE_EVENT_FORK:
    case PTRACE_EVENT_VFORK:
    case PTRACE_EVENT_CLONE:
        note_birth(t, pid);
        serve_waiting(t); /* a newborn may have counted twice until now */
        break;
    case PTRACE_EVENT_EXEC:
        note_exec(t, pid);
        serve_waiting(t);
        return false;
    case PTRACE_EVENT_STOP:
        /* Stopped by a signal such as SIGSTOP: let it be, until another one wakes it. */
        if (signal_number != SIGTRAP) {
            ptrace(PTRACE_LISTEN, pid, NULL, NULL);
            return false;
        }
        /* The first stop of a newborn, whose parent may be killed before it tells. Only the first
         * thread of a process has the number of the process. */
        if (!find(t, pid)->lives && syscall(SYS_tgkill, pid, pid, 0) == 0)
            born(t, pid, false);
        break;
    default:
        break;
    }
    ptrace(PTRACE_CONT, pid, NULL, NULL);
    return false;
}

int trace_begin(struct trace *t, uint64_t limit, pid_t program)
{
    t->limit = limit;
    if (ptrace(PTRACE_SEIZE, program, NULL, (void *)(long)OPTIONS) < 0)
        return -errno;
    born(t, program, true);
    return 0;
}

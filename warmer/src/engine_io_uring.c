/**
 * io_uring by plain system calls, so that a static build needs no library.
 *
 * What must be there, or the engine says -EINVAL and another is taken: one mapping for both rings,
 * completions that are never dropped (both Linux 5.5) and the read operation (5.6). What is used where
 * present: a registered buffer and file (each read then costs less), waits with a time limit in the same call
 * (5.11; before that, poll on the ring), a raised number of kernel workers (5.15), completions without
 * interrupts (5.19) or only when asked for (6.1), and waits that collect several completions (6.12). The
 * workers matter most on a file system that cannot read asynchronously, such as FUSE: the kernel then reads
 * in its own workers, four a processor unless told.
 */
#include "engine_io_uring.h"

#include "clock.h"

#include <errno.h>
#include <linux/io_uring.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define REQUIRED_FEATURES (IORING_FEAT_SINGLE_MMAP | IORING_FEAT_NODROP)

/* Newer than the headers of some systems; the kernel that runs is asked anyway. */
#ifndef IORING_SETUP_COOP_TASKRUN
#define IORING_SETUP_COOP_TASKRUN (1u << 8)
#endif
#ifndef IORING_SETUP_SINGLE_ISSUER
#define IORING_SETUP_SINGLE_ISSUER (1u << 12)
#endif
#ifndef IORING_SETUP_DEFER_TASKRUN
#define IORING_SETUP_DEFER_TASKRUN (1u << 13)
#endif
#ifndef IORING_FEAT_MIN_TIMEOUT
#define IORING_FEAT_MIN_TIMEOUT (1u << 15)
#endif

/** How a ring is asked for, the best first; older kernels refuse flags that they do not know with EINVAL. */
static const struct ring_kind {
    unsigned flags;
    const char *name;
} ring_kinds[] = {
    {IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN, "deferred completions"},
    {IORING_SETUP_COOP_TASKRUN, "cooperative completions"},
    {0, "plain completions"},
};

/** With this many reads in flight for each completion, waiting for one more costs nothing that can be seen.
 */
#define READS_PER_COMPLETION 16u
#define MOST_COMPLETIONS 8u
#define COLLECT_US 500u

/** The argument of a wait as Linux 6.12 has it; before that, the third field was padding that must be 0. */
struct wait_argument {
    uint64_t signal_mask;
    uint32_t signal_mask_bytes;
    uint32_t collect_us;
    uint64_t limit;
};

/** The kernel has NSIG / 8 bytes of signal mask. */
#define KERNEL_SIGSET_BYTES 8u

struct uring_engine {
    struct engine base;
    int ring;
    const struct ring_kind *kind;
    bool has_timed_wait;
    bool has_collecting_wait;
    bool has_fixed_file;
    bool has_fixed_buffer;
    int device;
    void *buffer;
    void *rings;
    size_t rings_bytes;
    struct io_uring_sqe *entries;
    size_t entries_bytes;
    unsigned *submit_tail, submit_mask, *submit_array;
    unsigned *done_head, *done_tail, done_mask;
    struct io_uring_cqe *completions;
    unsigned unsubmitted; /**< In the submission ring, not yet handed to the kernel. */
    unsigned in_flight;   /**< Submitted or unsubmitted, not yet reaped. */
    char features[128];
};

static int ring_register(const struct uring_engine *engine, unsigned operation, const void *argument,
                         unsigned count) {
    return syscall(SYS_io_uring_register, engine->ring, operation, argument, count) < 0 ? -errno : 0;
}

/** Submit what is queued and, with GETEVENTS, wait; entries taken or -errno. */
static int ring_enter(struct uring_engine *engine, unsigned wanted, unsigned flags, const void *argument,
                      size_t size) {
    long taken =
        syscall(SYS_io_uring_enter, engine->ring, engine->unsubmitted, wanted, flags, argument, size);
    if (taken < 0) {
        return -errno;
    }
    engine->unsubmitted -= (unsigned)taken;
    return (int)taken;
}

/** Does the kernel know the plain read operation? */
static bool can_read(const struct uring_engine *engine) {
    union {
        struct io_uring_probe probe;
        unsigned char room[sizeof(struct io_uring_probe) + 256 * sizeof(struct io_uring_probe_op)];
    } answer;
    memset(&answer, 0, sizeof answer);
    return ring_register(engine, IORING_REGISTER_PROBE, &answer, 256) == 0 &&
           answer.probe.last_op >= IORING_OP_READ &&
           (answer.probe.ops[IORING_OP_READ].flags & IO_URING_OP_SUPPORTED) != 0;
}

/** Everything that makes reads cheaper and may be missing. */
static void register_extras(struct uring_engine *engine, const struct engine_settings *settings) {
    struct iovec memory = {settings->buffer, settings->buffer_bytes};
    unsigned workers[2] = {settings->max_in_flight, 0};
    engine->has_fixed_buffer = ring_register(engine, IORING_REGISTER_BUFFERS, &memory, 1) == 0;
    engine->has_fixed_file = ring_register(engine, IORING_REGISTER_FILES, &engine->device, 1) == 0;
    ring_register(engine, IORING_REGISTER_IOWQ_MAX_WORKERS, workers, 2);
}

/** For the report: what this kernel gives. */
static void describe(struct uring_engine *engine) {
    snprintf(engine->features, sizeof engine->features, "%s%s%s; %s", engine->kind->name,
             engine->has_fixed_buffer ? "; registered buffer" : "",
             engine->has_fixed_file ? "; registered file" : "",
             engine->has_collecting_wait ? "collecting waits"
             : engine->has_timed_wait    ? "timed waits"
                                         : "polled waits");
    engine->base.features = engine->features;
}

static int map_rings(struct uring_engine *engine, const struct io_uring_params *params) {
    size_t submit_bytes = params->sq_off.array + params->sq_entries * sizeof(unsigned);
    size_t done_bytes = params->cq_off.cqes + params->cq_entries * sizeof(struct io_uring_cqe);
    int protection = PROT_READ | PROT_WRITE;
    int flags = MAP_SHARED | MAP_POPULATE;
    size_t bytes = submit_bytes > done_bytes ? submit_bytes : done_bytes;
    void *rings = mmap(NULL, bytes, protection, flags, engine->ring, (off_t)IORING_OFF_SQ_RING);
    if (rings == MAP_FAILED) {
        return -errno;
    }
    engine->rings = rings;
    engine->rings_bytes = bytes;
    engine->entries_bytes = params->sq_entries * sizeof(struct io_uring_sqe);
    void *entries =
        mmap(NULL, engine->entries_bytes, protection, flags, engine->ring, (off_t)IORING_OFF_SQES);
    if (entries == MAP_FAILED) {
        return -errno;
    }
    engine->entries = entries;
    return 0;
}

static void find_indexes(struct uring_engine *engine, const struct io_uring_params *params) {
    char *rings = engine->rings;
    engine->submit_tail = (void *)(rings + params->sq_off.tail);
    engine->submit_array = (void *)(rings + params->sq_off.array);
    engine->submit_mask = *(unsigned *)(void *)(rings + params->sq_off.ring_mask);
    engine->done_head = (void *)(rings + params->cq_off.head);
    engine->done_tail = (void *)(rings + params->cq_off.tail);
    engine->done_mask = *(unsigned *)(void *)(rings + params->cq_off.ring_mask);
    engine->completions = (void *)(rings + params->cq_off.cqes);
}

/** Ask for the best kind of ring that there is; 0 or -errno. */
static int make_ring(struct uring_engine *engine, unsigned entries, struct io_uring_params *params) {
    long ring = -1;
    for (size_t i = 0; ring < 0 && i < sizeof ring_kinds / sizeof ring_kinds[0]; i++) {
        engine->kind = &ring_kinds[i];
        *params = (struct io_uring_params){.flags = ring_kinds[i].flags};
        ring = syscall(SYS_io_uring_setup, entries, params);
        if (ring < 0 && errno != EINVAL) {
            break;
        }
    }
    engine->ring = (int)ring;
    return ring < 0 ? -errno : 0;
}

/** Make the ring and all that belongs to it; 0 or -errno. */
static int set_up(struct uring_engine *engine, const struct engine_settings *settings) {
    struct io_uring_params params;
    int failure = make_ring(engine, settings->max_in_flight, &params);
    if (failure != 0) {
        return failure;
    }
    if ((params.features & REQUIRED_FEATURES) != REQUIRED_FEATURES || !can_read(engine)) {
        return -EINVAL;
    }
    engine->has_timed_wait = (params.features & IORING_FEAT_EXT_ARG) != 0;
    engine->has_collecting_wait = engine->has_timed_wait && (params.features & IORING_FEAT_MIN_TIMEOUT) != 0;
    failure = map_rings(engine, &params);
    if (failure == 0) {
        find_indexes(engine, &params);
        register_extras(engine, settings);
        describe(engine);
    }
    return failure;
}

static int uring_submit(struct engine *base, const struct engine_read *read) {
    struct uring_engine *engine = (struct uring_engine *)base;
    unsigned tail = *engine->submit_tail;
    unsigned index = tail & engine->submit_mask;
    struct io_uring_sqe *entry = &engine->entries[index];
    memset(entry, 0, sizeof *entry);
    entry->opcode = engine->has_fixed_buffer ? IORING_OP_READ_FIXED : IORING_OP_READ;
    entry->flags = engine->has_fixed_file ? IOSQE_FIXED_FILE : 0;
    entry->fd = engine->has_fixed_file ? 0 : engine->device;
    entry->addr = (uint64_t)(uintptr_t)engine->buffer;
    entry->len = read->length_bytes;
    entry->off = read->offset_bytes;
    entry->user_data = read->tag;
    engine->submit_array[index] = index;
    __atomic_store_n(engine->submit_tail, tail + 1, __ATOMIC_RELEASE);
    engine->unsubmitted++;
    engine->in_flight++;
    return 0;
}

static unsigned collect(struct uring_engine *engine, struct engine_completion *done, unsigned capacity) {
    unsigned head = *engine->done_head;
    unsigned tail = __atomic_load_n(engine->done_tail, __ATOMIC_ACQUIRE);
    unsigned count = 0;
    for (; head != tail && count < capacity; head++) {
        const struct io_uring_cqe *completion = &engine->completions[head & engine->done_mask];
        done[count++] = (struct engine_completion){(uint32_t)completion->user_data, completion->res};
    }
    __atomic_store_n(engine->done_head, head, __ATOMIC_RELEASE);
    engine->in_flight -= count;
    return count;
}

static struct timespec to_timespec(uint64_t nanoseconds) {
    return (struct timespec){.tv_sec = (time_t)(nanoseconds / NS_PER_SECOND),
                             .tv_nsec = (long)(nanoseconds % NS_PER_SECOND)};
}

/** How many completions to wait for, if they come at once: with many reads in flight one call brings several.
 */
static unsigned completions_wanted(const struct uring_engine *engine) {
    unsigned wanted = engine->has_collecting_wait ? engine->in_flight / READS_PER_COMPLETION : 1;
    return wanted < 1 ? 1 : wanted < MOST_COMPLETIONS ? wanted : MOST_COMPLETIONS;
}

/** Submit, then wait for a completion at most `wait_ns`, in one call. */
static int wait_timed(struct uring_engine *engine, uint64_t wait_ns) {
    struct __kernel_timespec limit = {.tv_sec = (int64_t)(wait_ns / NS_PER_SECOND),
                                      .tv_nsec = (long long)(wait_ns % NS_PER_SECOND)};
    unsigned wanted = completions_wanted(engine);
    struct wait_argument argument = {.signal_mask_bytes = KERNEL_SIGSET_BYTES,
                                     .collect_us = wanted > 1 ? COLLECT_US : 0,
                                     .limit = (uint64_t)(uintptr_t)&limit};
    return ring_enter(engine, wanted, IORING_ENTER_GETEVENTS | IORING_ENTER_EXT_ARG, &argument,
                      sizeof argument);
}

/** The same with kernels before 5.11: the ring's descriptor becomes readable. */
static int wait_polling(struct uring_engine *engine, uint64_t wait_ns) {
    struct timespec limit = to_timespec(wait_ns);
    struct pollfd ring = {.fd = engine->ring, .events = POLLIN};
    if (engine->unsubmitted > 0) {
        int taken = ring_enter(engine, 0, 0, NULL, 0);
        if (taken < 0) {
            return taken;
        }
    }
    return ppoll(&ring, 1, &limit, NULL) < 0 ? -errno : 0;
}

/** Results of a wait that mean "look again later". */
static bool is_harmless(int failure) {
    return failure == -ETIME || failure == -EINTR || failure == -EAGAIN || failure == -EBUSY;
}

static int uring_reap(struct engine *base, struct engine_completion *done, unsigned capacity,
                      uint64_t wait_ns) {
    struct uring_engine *engine = (struct uring_engine *)base;
    int failure = 0;
    bool ready = *engine->done_head != __atomic_load_n(engine->done_tail, __ATOMIC_ACQUIRE);
    if (ready || wait_ns == 0) {
        /* GETEVENTS, because deferred completions appear only when they are asked for. */
        failure =
            engine->unsubmitted > 0 || !ready ? ring_enter(engine, 0, IORING_ENTER_GETEVENTS, NULL, 0) : 0;
    } else {
        failure = engine->has_timed_wait ? wait_timed(engine, wait_ns) : wait_polling(engine, wait_ns);
    }
    if (failure < 0 && !is_harmless(failure)) {
        return failure;
    }
    return (int)collect(engine, done, capacity);
}

/** Let the kernel finish with the caller's buffer. */
static void drain(struct uring_engine *engine) {
    struct engine_completion ignored[64];
    engine->in_flight -= engine->unsubmitted;
    engine->unsubmitted = 0;
    while (engine->in_flight > 0) {
        if (uring_reap(&engine->base, ignored, 64, NS_PER_SECOND) < 0) {
            return;
        }
    }
}

static void uring_close(struct engine *base) {
    struct uring_engine *engine = (struct uring_engine *)base;
    if (engine->entries != NULL) {
        drain(engine);
        munmap(engine->entries, engine->entries_bytes);
    }
    if (engine->rings != NULL) {
        munmap(engine->rings, engine->rings_bytes);
    }
    if (engine->ring >= 0) {
        close(engine->ring);
    }
    free(engine);
}

static int uring_open(const struct engine_settings *settings, struct engine **opened) {
    struct uring_engine *engine = calloc(1, sizeof *engine);
    if (engine == NULL) {
        return -ENOMEM;
    }
    engine->base.ops = &engine_io_uring;
    engine->ring = -1;
    engine->device = device_descriptor(settings->device);
    engine->buffer = settings->buffer;
    int failure = set_up(engine, settings);
    if (failure != 0) {
        uring_close(&engine->base);
        return failure;
    }
    *opened = &engine->base;
    return 0;
}

const struct engine_ops engine_io_uring = {
    .name = "io_uring",
    .description = "Linux's submission and completion rings",
    .open = uring_open,
    .submit = uring_submit,
    .reap = uring_reap,
    .close = uring_close,
};

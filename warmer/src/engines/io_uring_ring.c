/**
 * io_uring by plain system calls, so that a static build needs no library.
 *
 * Required, or opening fails with -EINVAL: one mapping for both rings and completions that are never dropped
 * (Linux 5.5), and the read operation (5.6).
 *
 * Used if present: a registered buffer and file, which make each read cheaper; waits with a time limit (5.11;
 * before that, poll on the ring); more kernel workers (5.15); completions without interrupts (5.19) or only
 * on request (6.1); waits that collect several completions (6.12). The workers matter most on a file system
 * that cannot read asynchronously, such as FUSE: by default the kernel has four of them per processor.
 */
#include "engines/io_uring_ring.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
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

static int ring_register(const struct uring_engine *engine, unsigned operation, const void *argument,
                         unsigned count) {
    return syscall(SYS_io_uring_register, engine->ring, operation, argument, count) < 0 ? -errno : 0;
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

/** List the features in use, for the report. */
static void describe(struct uring_engine *engine) {
    snprintf(engine->features, sizeof engine->features, "%s%s%s; %s", engine->kind,
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

/** Set up the best kind of ring that the kernel accepts. Returns 0 or -errno. */
static int make_ring(struct uring_engine *engine, unsigned entries, struct io_uring_params *params) {
    long ring = -1;
    for (size_t i = 0; ring < 0 && i < sizeof ring_kinds / sizeof ring_kinds[0]; i++) {
        engine->kind = ring_kinds[i].name;
        *params = (struct io_uring_params){.flags = ring_kinds[i].flags};
        ring = syscall(SYS_io_uring_setup, entries, params);
        if (ring < 0 && errno != EINVAL) {
            break;
        }
    }
    engine->ring = (int)ring;
    return ring < 0 ? -errno : 0;
}

int ring_set_up(struct uring_engine *engine, const struct engine_settings *settings) {
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

/** The io_uring engine: submit, wait, collect. io_uring_ring.c sets up the rings. */
#include "engines/engine_io_uring.h"

#include "engines/io_uring_ring.h"
#include "system/clock.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/** With so many reads in flight for each completion, waiting for one more costs nothing measurable. */
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

static int uring_submit(struct engine *base, const struct engine_read *read) {
    struct uring_engine *engine = (struct uring_engine *)base;
    unsigned tail = *engine->submit_tail;
    unsigned index = tail & engine->submit_mask;
    struct io_uring_sqe *entry = &engine->entries[index];
    memset(entry, 0, sizeof *entry);
    if (read->is_write) {
        entry->opcode = engine->has_fixed_buffer ? IORING_OP_WRITE_FIXED : IORING_OP_WRITE;
    } else {
        entry->opcode = engine->has_fixed_buffer ? IORING_OP_READ_FIXED : IORING_OP_READ;
    }
    entry->flags = engine->has_fixed_file ? IOSQE_FIXED_FILE : 0;
    entry->fd = engine->has_fixed_file ? 0 : engine->device;
    entry->addr = (uint64_t)(uintptr_t)engine->buffer + read->place_bytes;
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

/** How many completions to wait for: with many reads in flight, one call returns several of them. */
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
    int failure = ring_set_up(engine, settings);
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

/**
 * The loop: next block, submit, reap, account.
 *
 * Every outcome of a read is handled here, once, for all engines: the whole block, a part of it, nothing (the
 * device ended), an error that passes and one that stays. There is no time limit on a read: a cold block may
 * take long, and giving it up would only fetch it again. A block that waits for its retry, or for a slow
 * fetch, holds its own slot and nothing else.
 */
#include "warm.h"

#include "clock.h"
#include "pace.h"

#include <errno.h>
#include <stdlib.h>

#define MAX_ATTEMPTS 10u
#define MAX_BACKOFF_NS NS_PER_SECOND

/** Longest wait for a completion, so that a signal or a due report is seen in time. */
#define TICK_NS (50 * NS_PER_MILLISECOND)

/** Completions taken at a time. */
#define BATCH 64u

enum slot_state { SLOT_FREE, SLOT_WAITING, SLOT_READING };

/** One block on its way. */
struct slot {
    enum slot_state state;
    unsigned attempts;   /**< Passing errors in a row. */
    uint32_t done_bytes; /**< Read so far, a multiple of the alignment. */
    uint32_t length_bytes;
    uint64_t block;
    uint64_t issued_ns;
    uint64_t due_ns; /**< When a waiting slot may be read again. */
};

struct run {
    const struct warm_settings *settings;
    struct warm_result *result;
    struct slot *slots;
    uint32_t *free_slots; /**< A stack. */
    unsigned slot_count, free_count;
    unsigned reading, waiting;
    uint64_t began_ns;
    struct depth depth;
    struct pace pace;
};

static void release(struct run *run, struct slot *slot) {
    slot->state = SLOT_FREE;
    run->free_slots[run->free_count++] = (uint32_t)(slot - run->slots);
}

static void finish_block(struct run *run, struct slot *slot) {
    struct warm_progress *progress = &run->result->progress;
    progress->blocks_done++;
    progress->bytes_done += slot->length_bytes;
    if (run->settings->remember != NULL) {
        run->settings->remember(run->settings->remember_context, slot->block);
    }
    release(run, slot);
}

static void fail_block(struct run *run, struct slot *slot, int error) {
    struct warm_result *result = run->result;
    result->progress.blocks_failed++;
    if (result->first_error == 0) {
        result->first_error = error;
    }
    /* Without memory for the list the count still says that the run is not complete. */
    (void)extents_append(&result->failed, slot->block, 1);
    release(run, slot);
}

static void wait_until(struct run *run, struct slot *slot, uint64_t due_ns) {
    slot->state = SLOT_WAITING;
    slot->due_ns = due_ns;
    run->waiting++;
}

static bool is_passing(int error) {
    return error == EAGAIN || error == EINTR || error == EBUSY || error == ENOMEM || error == ENOBUFS ||
           error == ETIMEDOUT || error == ECANCELED;
}

static void retry_or_fail(struct run *run, struct slot *slot, int error, uint64_t now_ns) {
    if (!is_passing(error) || slot->attempts >= MAX_ATTEMPTS) {
        fail_block(run, slot, error);
        return;
    }
    uint64_t backoff_ns = NS_PER_MILLISECOND << slot->attempts;
    slot->attempts++;
    run->result->progress.retries++;
    wait_until(run, slot, now_ns + (backoff_ns < MAX_BACKOFF_NS ? backoff_ns : MAX_BACKOFF_NS));
}

/** Data came: all that was asked for, or a part whose rest is read at once. */
static void take_data(struct run *run, struct slot *slot, uint32_t bytes, uint64_t now_ns) {
    struct warm_progress *progress = &run->result->progress;
    progress->reads++;
    progress->bytes_read += bytes;
    latency_add(&progress->latency, now_ns - slot->issued_ns);
    depth_observe(&run->depth, bytes, now_ns);
    uint32_t wanted = slot->length_bytes - slot->done_bytes;
    if (bytes >= wanted) {
        finish_block(run, slot);
        return;
    }
    progress->short_reads++;
    uint32_t usable = bytes - bytes % run->settings->alignment_bytes;
    if (usable == 0) {
        retry_or_fail(run, slot, EAGAIN, now_ns);
        return;
    }
    slot->done_bytes += usable;
    slot->attempts = 0;
    wait_until(run, slot, now_ns);
}

static void take_completion(struct run *run, const struct engine_completion *completion, uint64_t now_ns) {
    struct slot *slot = &run->slots[completion->tag];
    run->reading--;
    if (completion->result > 0) {
        take_data(run, slot, (uint32_t)completion->result, now_ns);
    } else if (completion->result == 0) {
        /* The device ended before the size that it was opened with. */
        fail_block(run, slot, ENXIO);
    } else {
        retry_or_fail(run, slot, -completion->result, now_ns);
    }
}

static void submit(struct run *run, struct slot *slot, uint64_t now_ns) {
    uint32_t alignment = run->settings->alignment_bytes;
    uint32_t rest = slot->length_bytes - slot->done_bytes;
    struct engine_read read = {
        .offset_bytes = slot->block * BLOCK_BYTES + slot->done_bytes,
        /* The last block may end between two multiples; the read then simply ends with the device. */
        .length_bytes = (rest + alignment - 1) / alignment * alignment,
        .tag = (uint32_t)(slot - run->slots),
    };
    slot->state = SLOT_READING;
    slot->issued_ns = now_ns;
    run->reading++;
    int failure = run->settings->engine->ops->submit(run->settings->engine, &read);
    if (failure != 0) {
        struct engine_completion refused = {.tag = read.tag, .result = failure};
        take_completion(run, &refused, now_ns);
    }
}

/** Read again what is due; the earliest time that something else is. */
static uint64_t start_waiting(struct run *run, uint64_t now_ns) {
    uint64_t next_ns = now_ns + TICK_NS;
    unsigned left = run->waiting;
    for (unsigned i = 0; left > 0 && i < run->slot_count; i++) {
        struct slot *slot = &run->slots[i];
        if (slot->state != SLOT_WAITING) {
            continue;
        }
        left--;
        if (slot->due_ns > now_ns) {
            next_ns = slot->due_ns < next_ns ? slot->due_ns : next_ns;
        } else if (run->reading < run->depth.current) {
            run->waiting--;
            submit(run, slot, now_ns);
        }
    }
    return next_ns;
}

static bool may_start(const struct run *run, uint64_t now_ns) {
    return run->reading < run->depth.current && run->free_count > 0 && pace_allows(&run->pace, now_ns);
}

static void start_new(struct run *run, uint64_t now_ns) {
    while (may_start(run, now_ns)) {
        uint64_t block = plan_next(run->settings->plan);
        if (block == BLOCK_NONE) {
            return;
        }
        struct slot *slot = &run->slots[run->free_slots[--run->free_count]];
        uint32_t length = block_length(block, run->settings->device_bytes);
        *slot = (struct slot){.block = block, .length_bytes = length};
        pace_charge(&run->pace, length, now_ns);
        submit(run, slot, now_ns);
    }
}

/** Start all that may start; how long to wait for a completion at most. */
static uint64_t start_reads(struct run *run, uint64_t now_ns) {
    uint64_t next_ns = start_waiting(run, now_ns);
    start_new(run, now_ns);
    if (plan_remaining(run->settings->plan) > 0 && !pace_allows(&run->pace, now_ns) &&
        run->pace.due_ns < next_ns) {
        next_ns = run->pace.due_ns;
    }
    return next_ns - now_ns;
}

static int reap(struct run *run, uint64_t wait_ns) {
    struct engine *engine = run->settings->engine;
    struct engine_completion done[BATCH];
    int count = engine->ops->reap(engine, done, BATCH, wait_ns);
    uint64_t now_ns = run->settings->now_ns();
    for (int i = 0; i < count; i++) {
        take_completion(run, &done[i], now_ns);
    }
    return count < 0 ? count : 0;
}

static void show(struct run *run) {
    struct warm_progress *progress = &run->result->progress;
    progress->elapsed_ns = run->settings->now_ns() - run->began_ns;
    progress->depth = run->depth.current;
    if (run->settings->observe != NULL) {
        run->settings->observe(run->settings->observe_context, progress);
    }
}

static void loop(struct run *run) {
    struct warm_result *result = run->result;
    for (;;) {
        uint64_t wait_ns = TICK_NS;
        result->was_interrupted = run->settings->is_interrupted();
        if (!result->was_interrupted) {
            wait_ns = start_reads(run, run->settings->now_ns());
        }
        show(run);
        bool is_exhausted = run->waiting == 0 && plan_remaining(run->settings->plan) == 0;
        if (run->reading == 0 && (result->was_interrupted || is_exhausted)) {
            /* A signal that comes when all is read changes nothing. */
            result->was_interrupted = !is_exhausted;
            return;
        }
        int failure = reap(run, wait_ns);
        if (failure != 0) {
            result->engine_error = -failure;
            return;
        }
    }
}

static int allocate(struct run *run) {
    /* Twice as many slots as reads, so that blocks waiting for a retry do not keep others from being read. */
    run->slot_count = 2 * run->settings->max_in_flight;
    run->slots = calloc(run->slot_count, sizeof *run->slots);
    run->free_slots = calloc(run->slot_count, sizeof *run->free_slots);
    if (run->slots == NULL || run->free_slots == NULL) {
        return -ENOMEM;
    }
    for (unsigned i = 0; i < run->slot_count; i++) {
        run->free_slots[run->free_count++] = run->slot_count - 1 - i;
    }
    return 0;
}

int warm_run(const struct warm_settings *settings, struct warm_result *result) {
    struct run run = {.settings = settings, .result = result, .began_ns = settings->now_ns()};
    int failure = allocate(&run);
    if (failure == 0) {
        pace_init(&run.pace, settings->max_mib_s, run.began_ns);
        if (settings->fixed_depth > 0) {
            depth_init_fixed(&run.depth, settings->fixed_depth);
        } else {
            depth_init_auto(&run.depth, run.began_ns);
        }
        loop(&run);
        extents_sort(&result->failed);
    }
    free(run.slots);
    free(run.free_slots);
    return failure;
}

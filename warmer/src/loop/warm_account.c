/**
 * The outcome of each read.
 *
 * Every outcome is handled here, once, for all engines: the whole block, a part of it, nothing (the end of
 * the device), a temporary error and a permanent one.
 */
#include "loop/warm_run.h"
#include "system/clock.h"

#include <errno.h>

#define MAX_ATTEMPTS 10u
#define MAX_BACKOFF_NS NS_PER_SECOND

static void release(struct run *run, struct slot *slot) {
    slot->state = SLOT_FREE;
    run->free_slots[run->free_count++] = (uint32_t)(slot - run->slots);
}

uint32_t warm_block_bytes(const struct run *run, uint64_t block) {
    uint32_t length = block_length(block, run->settings->device_bytes);
    uint32_t touch = run->settings->touch_bytes;
    return touch > 0 && touch < length ? touch : length;
}

uint32_t warm_slot_rest(const struct run *run, const struct slot *slot) {
    uint32_t others = slot->is_alone ? 0 : slot->count - 1;
    uint64_t last = slot->block + others;
    return others * BLOCK_BYTES + warm_block_bytes(run, last) - slot->done_bytes;
}

/** The slot's first block is read or has failed: continue with the next one, or free the slot. */
static void pass_block(struct run *run, struct slot *slot) {
    slot->block++;
    slot->count--;
    slot->done_bytes = 0;
    slot->attempts = 0;
    if (slot->count == 0) {
        release(run, slot);
    }
}

static void finish_block(struct run *run, struct slot *slot, uint32_t length_bytes) {
    struct warm_progress *progress = &run->result->progress;
    progress->blocks_done++;
    progress->bytes_done += length_bytes;
    progress->first_done += slot->is_first;
    if (slot->is_first && progress->first_done == progress->first_total) {
        progress->first_ns = run->settings->now_ns() - run->began_ns;
    }
    polite_note(&run->polite, slot->block);
    if (run->settings->remember != NULL) {
        run->settings->remember(run->settings->remember_context, slot->block);
    }
    pass_block(run, slot);
}

static void wait_until(struct run *run, struct slot *slot, uint64_t due_ns) {
    slot->state = SLOT_WAITING;
    slot->due_ns = due_ns;
    run->waiting++;
}

static void fail_block(struct run *run, struct slot *slot, int error, uint64_t now_ns) {
    struct warm_result *result = run->result;
    result->progress.blocks_failed++;
    if (result->first_error == 0) {
        result->first_error = error;
    }
    /* Without memory for the list the count still says that the run is not complete. */
    (void)extents_append(&result->failed, slot->block, 1);
    pass_block(run, slot);
    if (slot->count > 0) {
        wait_until(run, slot, now_ns);
    }
}

static bool is_passing(int error) {
    return error == EAGAIN || error == EINTR || error == EBUSY || error == ENOMEM || error == ENOBUFS ||
           error == ETIMEDOUT || error == ECANCELED;
}

/** Without the device no block has failed by itself: all that are left are merely not read. */
static bool is_gone(struct run *run, int error) {
    struct warm_result *result = run->result;
    if (result->gone == NULL && run->settings->find_gone != NULL) {
        result->gone = run->settings->find_gone(run->settings->gone_context, error);
    }
    return result->gone != NULL;
}

/**
 * The read of these blocks failed for good, with `error`, 0 for the device's end: one of them, but which?
 * Alone each answers for itself.
 */
static void settle_failure(struct run *run, struct slot *slot, int error, uint64_t now_ns) {
    if (is_gone(run, error)) {
        release(run, slot);
        return;
    }
    error = error == 0 ? ENXIO : error;
    if (slot->count == 1 || slot->is_alone) {
        fail_block(run, slot, error, now_ns);
        return;
    }
    slot->is_alone = true;
    slot->attempts = 0;
    run->result->progress.retries++;
    wait_until(run, slot, now_ns);
}

static void retry_or_fail(struct run *run, struct slot *slot, int error, uint64_t now_ns) {
    if (!is_passing(error) || slot->attempts >= MAX_ATTEMPTS) {
        settle_failure(run, slot, error, now_ns);
        return;
    }
    uint64_t backoff_ns = NS_PER_MILLISECOND << slot->attempts;
    slot->attempts++;
    run->result->progress.retries++;
    wait_until(run, slot, now_ns + (backoff_ns < MAX_BACKOFF_NS ? backoff_ns : MAX_BACKOFF_NS));
}

/** Finish each block that `bytes` more reach to the end of; what is left over belongs to the next one. */
static uint32_t finish_blocks(struct run *run, struct slot *slot, uint32_t bytes) {
    while (slot->count > 0) {
        uint32_t length = warm_block_bytes(run, slot->block);
        uint32_t missing = length - slot->done_bytes;
        if (bytes < missing) {
            return bytes;
        }
        bytes -= missing;
        finish_block(run, slot, block_length(slot->block, run->settings->device_bytes));
    }
    return 0;
}

/** Data came: all that was asked for, or a part whose rest is read at once. */
static void take_data(struct run *run, struct slot *slot, uint32_t bytes, uint64_t now_ns) {
    struct warm_progress *progress = &run->result->progress;
    uint64_t latency_ns = now_ns - slot->issued_ns;
    bool is_short = bytes < slot->asked_bytes;
    progress->reads++;
    progress->short_reads += is_short;
    progress->bytes_read += bytes;
    latency_add(&progress->latency, latency_ns);
    depth_observe(&run->depth, bytes, latency_ns, now_ns);
    uint32_t left = finish_blocks(run, slot, bytes);
    if (slot->count == 0) {
        return;
    }
    uint32_t usable = left - left % run->settings->alignment_bytes;
    if (is_short && bytes == left && usable == 0) {
        retry_or_fail(run, slot, EAGAIN, now_ns);
        return;
    }
    slot->done_bytes += usable;
    slot->attempts = 0;
    wait_until(run, slot, now_ns);
}

static void take_probe(struct run *run, const struct engine_completion *completion, uint64_t now_ns) {
    if (completion->result <= 0) {
        polite_forget(&run->polite);
        return;
    }
    latency_add(&run->result->progress.probes, now_ns - run->probed_ns);
    polite_answer(&run->polite, now_ns - run->probed_ns, now_ns);
}

void warm_account(struct run *run, const struct engine_completion *completion, uint64_t now_ns) {
    if (completion->tag == run->slot_count) {
        take_probe(run, completion, now_ns);
        return;
    }
    struct slot *slot = &run->slots[completion->tag];
    warm_room_leave(run, slot);
    uint32_t came = completion->result > 0 ? (uint32_t)completion->result : 0;
    pace_refund(&run->pace, came < slot->asked_bytes ? slot->asked_bytes - came : 0);
    if (completion->result > 0) {
        take_data(run, slot, (uint32_t)completion->result, now_ns);
    } else if (completion->result == 0) {
        /* The device ended before the size that it was opened with. */
        settle_failure(run, slot, 0, now_ns);
    } else {
        retry_or_fail(run, slot, -completion->result, now_ns);
    }
}

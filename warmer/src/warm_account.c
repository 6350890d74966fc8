/**
 * What became of a read.
 *
 * Every outcome is handled here, once, for all engines: the whole block, a part of it, nothing (the device
 * ended), an error that passes and one that stays.
 */
#include "clock.h"
#include "warm_run.h"

#include <errno.h>

#define MAX_ATTEMPTS 10u
#define MAX_BACKOFF_NS NS_PER_SECOND

static void release(struct run *run, struct slot *slot) {
    slot->state = SLOT_FREE;
    run->free_slots[run->free_count++] = (uint32_t)(slot - run->slots);
}

static void finish_block(struct run *run, struct slot *slot) {
    struct warm_progress *progress = &run->result->progress;
    progress->blocks_done++;
    progress->bytes_done += slot->length_bytes;
    polite_note(&run->polite, slot->block);
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

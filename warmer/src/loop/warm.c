/**
 * The loop: next block, submit, reap, account.
 *
 * A read has no time limit: a cold block may take long, and giving it up would only fetch it again. A block
 * that waits for its retry or for a slow fetch occupies its own slot and delays no other block.
 */
#include "loop/warm_run.h"
#include "system/clock.h"

#include <errno.h>
#include <stdlib.h>

/** Longest wait for a completion, so that a signal or a due report is seen in time. */
#define TICK_NS (50 * NS_PER_MILLISECOND)

/** How long reads wait for the blocks that come first, and how often the loop asks for them. */
#define FIRST_WAIT_NS (2 * NS_PER_MILLISECOND)
#define FIRST_LOOK_NS (NS_PER_MILLISECOND / 4)

/** Completions taken at a time. */
#define BATCH 64u

/** Hand a read to the engine; one that is refused is done at once. */
static void hand_over(struct run *run, const struct engine_read *read, uint64_t now_ns) {
    int failure = run->settings->engine->ops->submit(run->settings->engine, read);
    if (failure != 0) {
        struct engine_completion refused = {.tag = read->tag, .result = failure};
        warm_account(run, &refused, now_ns);
    }
}

/** The largest read: small if a rate or a latency limit was asked for. */
static uint32_t piece_bytes(const struct run *run) {
    uint32_t paced = run->pace.piece_bytes;
    uint32_t polite = polite_piece_bytes(&run->polite);
    return paced < polite ? paced : polite;
}

static void submit(struct run *run, struct slot *slot, uint64_t now_ns) {
    uint32_t alignment = run->settings->alignment_bytes;
    uint32_t rest = warm_slot_rest(run, slot);
    slot->asked_bytes = rest < piece_bytes(run) ? rest : piece_bytes(run);
    pace_charge(&run->pace, slot->asked_bytes, now_ns);
    struct engine_read read = {
        .offset_bytes = slot->block * BLOCK_BYTES + slot->done_bytes,
        /* The last block may end between two multiples; the read then simply ends with the device. */
        .length_bytes = (slot->asked_bytes + alignment - 1) / alignment * alignment,
        .tag = (uint32_t)(slot - run->slots),
    };
    slot->state = SLOT_READING;
    slot->issued_ns = now_ns;
    warm_room_enter(run, slot);
    hand_over(run, &read, now_ns);
}

/** Ask the device how long a small read takes now, if that is due. */
static void submit_probe(struct run *run, uint64_t now_ns) {
    uint64_t block = polite_probe(&run->polite, now_ns);
    if (block == BLOCK_NONE) {
        return;
    }
    uint32_t alignment = run->settings->alignment_bytes;
    struct engine_read read = {
        .offset_bytes = block * BLOCK_BYTES,
        .length_bytes = alignment > POLITE_PROBE_BYTES ? alignment : POLITE_PROBE_BYTES,
        .tag = run->slot_count,
    };
    run->probed_ns = now_ns;
    pace_charge(&run->pace, read.length_bytes, now_ns);
    hand_over(run, &read, now_ns);
}

static unsigned allowed_depth(const struct run *run, uint64_t now_ns) {
    unsigned polite = polite_depth(&run->polite);
    unsigned room = warm_room_depth(run, now_ns);
    return polite < room ? polite : room;
}

/** The blocks that were asked for first are under way: politeness waits until few reads are left in flight.
 */
static bool is_calming_down(const struct run *run) {
    return run->polite.is_asleep && plan_leading(run->settings->plan) == 0;
}

static bool has_room(const struct run *run, uint64_t now_ns) {
    return run->result->gone == NULL && !is_calming_down(run) && run->reading < allowed_depth(run, now_ns) &&
           polite_allows(&run->polite, now_ns) && pace_allows(&run->pace, now_ns);
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
        } else if (has_room(run, now_ns)) {
            run->waiting--;
            submit(run, slot, now_ns);
        }
    }
    return next_ns;
}

static bool may_start(const struct run *run, uint64_t now_ns) {
    return has_room(run, now_ns) && run->free_count > 0;
}

static void start_new(struct run *run, uint64_t now_ns) {
    struct plan *plan = run->settings->plan;
    while (may_start(run, now_ns)) {
        uint32_t count = 0;
        uint64_t leading = plan_leading(plan);
        uint64_t block = plan_next_run(plan, warm_room_blocks(run), &count);
        if (block == BLOCK_NONE) {
            return;
        }
        struct slot *slot = &run->slots[run->free_slots[--run->free_count]];
        *slot = (struct slot){.block = block, .count = count, .is_first = plan_leading(plan) < leading};
        submit(run, slot, now_ns);
    }
}

/**
 * Whether reads may start: the blocks that come first are known, or are not waited for. A warm device answers
 * in a millisecond or two. On a cold device an unlimited warm-up does not wait, because the blocks that come
 * first are then still read before nearly all the rest. With a limit it waits for all of them, because what
 * is read to find them counts.
 */
static bool knows_first(struct run *run, uint64_t now_ns) {
    const struct warm_settings *settings = run->settings;
    uint64_t bytes = 0;
    if (!run->awaits_first) {
        return true;
    }
    enum warm_first known = settings->put_first(settings->first_context, settings->plan, &bytes);
    run->awaits_first = known != WARM_FIRST_ALL;
    pace_charge(&run->pace, bytes, now_ns);
    if (settings->max_mib_s > 0 || polite_is_on(&run->polite)) {
        return !run->awaits_first;
    }
    return known != WARM_FIRST_UNKNOWN || now_ns - run->began_ns >= FIRST_WAIT_NS;
}

/** Start all that may start; how long to wait for a completion at most. */
static uint64_t start_reads(struct run *run, uint64_t now_ns) {
    if (is_calming_down(run)) {
        polite_wake(&run->polite, run->reading, now_ns);
    }
    if (!knows_first(run, now_ns)) {
        return FIRST_LOOK_NS;
    }
    submit_probe(run, now_ns);
    warm_room_look(run, now_ns);
    uint64_t next_ns = start_waiting(run, now_ns);
    start_new(run, now_ns);
    bool has_more = plan_remaining(run->settings->plan) > 0 || run->waiting > 0;
    bool is_paced = has_more && !pace_allows(&run->pace, now_ns);
    if (is_paced && run->pace.due_ns < next_ns) {
        next_ns = run->pace.due_ns;
    }
    next_ns = polite_due_ns(&run->polite, now_ns, next_ns);
    return next_ns > now_ns ? next_ns - now_ns : 0;
}

static int reap(struct run *run, uint64_t wait_ns) {
    struct engine *engine = run->settings->engine;
    struct engine_completion done[BATCH];
    int count = engine->ops->reap(engine, done, BATCH, wait_ns);
    uint64_t now_ns = run->settings->now_ns();
    for (int i = 0; i < count; i++) {
        warm_account(run, &done[i], now_ns);
    }
    return count < 0 ? count : 0;
}

static void show(struct run *run) {
    struct warm_progress *progress = &run->result->progress;
    progress->elapsed_ns = run->settings->now_ns() - run->began_ns;
    unsigned polite = polite_depth(&run->polite);
    progress->depth = polite < run->depth.current ? polite : run->depth.current;
    progress->rest_depth = run->depth.phase == DEPTH_HOLD ? run->depth.current : progress->rest_depth;
    if (run->settings->observe != NULL) {
        run->settings->observe(run->settings->observe_context, progress);
    }
}

static void loop(struct run *run) {
    struct warm_result *result = run->result;
    for (;;) {
        uint64_t wait_ns = TICK_NS;
        bool is_stopped = run->settings->is_interrupted() || result->gone != NULL;
        if (!is_stopped) {
            wait_ns = start_reads(run, run->settings->now_ns());
        }
        show(run);
        bool is_exhausted = run->waiting == 0 && plan_remaining(run->settings->plan) == 0;
        bool is_quiet = run->reading == 0 && !run->polite.is_probing;
        if (is_quiet && (is_stopped || is_exhausted)) {
            /* A signal that comes when all is read, or nothing more can be, changes nothing. */
            result->was_interrupted = !is_exhausted && result->gone == NULL;
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
    struct run run = {.settings = settings,
                      .result = result,
                      .began_ns = settings->now_ns(),
                      .awaits_first = settings->put_first != NULL,
                      .usual_reads = {SLOT_NONE, SLOT_NONE},
                      .slow_reads = {SLOT_NONE, SLOT_NONE}};
    int failure = allocate(&run);
    if (failure == 0) {
        polite_init(&run.polite, settings->polite_latency_ms, settings->max_in_flight, run.began_ns);
        if (settings->polite_latency_ms > 0 && settings->first_unlimited &&
            plan_leading(settings->plan) > 0) {
            polite_sleep(&run.polite);
        }
        pace_init(&run.pace, settings->max_mib_s, run.began_ns);
        pace_charge(&run.pace, settings->bytes_before, run.began_ns);
        if (settings->fixed_depth > 0) {
            depth_init_fixed(&run.depth, settings->fixed_depth);
        } else {
            depth_init_auto(&run.depth, settings->max_in_flight, settings->start_depth, run.began_ns);
        }
        loop(&run);
        extents_sort(&result->failed);
    }
    free(run.slots);
    free(run.free_slots);
    return failure;
}

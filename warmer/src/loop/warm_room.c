/**
 * How many reads may be in flight, and how large they are.
 *
 * The search says how many reads the volume can use. Two things come on top. A read that takes far longer
 * than the others (on cold storage, seconds) does not count towards that number. Towards the end more reads
 * are started, so that a slow last block does not begin when all others are done.
 */
#include "loop/warm_run.h"
#include "system/clock.h"

/** A read is slow if it takes so many times the mean latency. */
#define SLOW_TIMES 4.0
#define SLOW_AT_LEAST_NS (20.0 * (double)NS_PER_MILLISECOND)

/** The last blocks are started so many times the slowest latency before the end. */
#define START_TIMES 1.5

/** Below this mean latency the blocks are warm, and reads of several blocks are faster. */
#define WARM_NS (8.0 * (double)NS_PER_MILLISECOND)

static bool is_searching(const struct run *run) {
    return run->depth.phase != DEPTH_FIXED;
}

unsigned warm_room_blocks(const struct run *run) {
    /* Single blocks if a rate or a latency limit was asked for. */
    bool is_free = is_searching(run) && run->settings->max_mib_s <= 0 && !polite_is_on(&run->polite) &&
                   run->settings->touch_bytes == 0;
    double latency_ns = run->depth.latency_ns;
    return is_free && latency_ns > 0 && latency_ns < WARM_NS ? WARM_RUN_BLOCKS : 1;
}

/** The longest latency so far, including that of the reads in flight. */
static double slowest_ns(const struct run *run, uint64_t now_ns) {
    uint64_t slowest = run->result->progress.latency.max_ns;
    if (run->slow_reads.oldest != SLOT_NONE) {
        uint64_t age_ns = now_ns - run->slots[run->slow_reads.oldest].issued_ns;
        slowest = age_ns > slowest ? age_ns : slowest;
    }
    return (double)slowest;
}

/** Would a block that starts now and is as slow as the slowest so far come back after all the others? */
static bool is_ending(const struct run *run, uint64_t now_ns) {
    uint32_t each = run->settings->touch_bytes > 0 ? run->settings->touch_bytes : BLOCK_BYTES;
    double left_bytes = (double)plan_remaining(run->settings->plan) * each;
    return is_searching(run) && left_bytes <= run->depth.rate * START_TIMES * slowest_ns(run, now_ns);
}

unsigned warm_room_depth(const struct run *run, uint64_t now_ns) {
    unsigned most = run->settings->max_in_flight;
    unsigned room = is_ending(run, now_ns) ? most : run->depth.current + run->slow;
    return room < most ? room : most;
}

static void append(struct run *run, struct slot_list *list, struct slot *slot) {
    uint32_t index = (uint32_t)(slot - run->slots);
    slot->older = list->newest;
    slot->newer = SLOT_NONE;
    if (list->newest != SLOT_NONE) {
        run->slots[list->newest].newer = index;
    } else {
        list->oldest = index;
    }
    list->newest = index;
}

static void take_out(struct run *run, struct slot_list *list, const struct slot *slot) {
    if (slot->older != SLOT_NONE) {
        run->slots[slot->older].newer = slot->newer;
    } else {
        list->oldest = slot->newer;
    }
    if (slot->newer != SLOT_NONE) {
        run->slots[slot->newer].older = slot->older;
    } else {
        list->newest = slot->older;
    }
}

void warm_room_look(struct run *run, uint64_t now_ns) {
    double slow_ns = SLOW_TIMES * run->depth.latency_ns;
    slow_ns = slow_ns > SLOW_AT_LEAST_NS ? slow_ns : SLOW_AT_LEAST_NS;
    /* Not more than the search's own, or a volume that stalls would be met with ever more reads. */
    while (is_searching(run) && run->depth.latency_ns > 0 && run->usual_reads.oldest != SLOT_NONE &&
           run->slow < run->depth.current) {
        struct slot *slot = &run->slots[run->usual_reads.oldest];
        if ((double)(now_ns - slot->issued_ns) < slow_ns) {
            return;
        }
        take_out(run, &run->usual_reads, slot);
        append(run, &run->slow_reads, slot);
        slot->is_slow = true;
        run->slow++;
    }
}

void warm_room_enter(struct run *run, struct slot *slot) {
    run->reading++;
    slot->is_slow = false;
    append(run, &run->usual_reads, slot);
}

void warm_room_leave(struct run *run, struct slot *slot) {
    run->reading--;
    run->slow -= slot->is_slow;
    take_out(run, slot->is_slow ? &run->slow_reads : &run->usual_reads, slot);
}

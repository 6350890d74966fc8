/**
 * How many reads to keep in flight.
 *
 * A cold volume answers a read in tens of milliseconds, so throughput grows with depth until a limit (of the
 * volume, the instance, or the fetches that EBS does at a time) is met; beyond it only the queue grows, and
 * the application's own reads wait in it. The search doubles the depth while that pays, then halves it while
 * that costs nothing, and rests. It starts again when the rate is no longer the one it found, or after a
 * while.
 *
 * A window counts only once as many reads as the depth have come back since the depth changed, and only when
 * it holds enough of them: one slow block must not look like a slow depth.
 */
#include "depth.h"

#include "clock.h"

#include <stdbool.h>

#define START_LEVEL 6u /* 64 reads */
#define WINDOW_NS (300 * NS_PER_MILLISECOND)

/** Too shallow costs time, too deep only patience: a step down is looked at this much longer. */
#define DESCENT_LOOKS 3u

/** The first rest is short, because the first search saw little; each later one is twice as long. */
#define FIRST_HOLD_NS (5 * NS_PER_SECOND)
#define LONGEST_HOLD_NS (40 * NS_PER_SECOND)

/** Going deeper must pay this much; going shallower may cost at most this much. */
#define WORTH_IT 1.04
#define COSTS_NOTHING 0.98

/** A rate this far above or below the one found means that the volume has changed, or the search was misled.
 */
#define ROSE 1.25
#define FELL 0.95
#define ODD_WINDOWS 3u

void depth_init_fixed(struct depth *depth, unsigned reads) {
    *depth = (struct depth){.phase = DEPTH_FIXED, .current = reads};
}

static void begin_window(struct depth *depth, uint64_t settle_reads, uint64_t now_ns) {
    depth->settle_reads = settle_reads;
    depth->window_ns = now_ns;
    depth->window_bytes = 0;
    depth->window_reads = 0;
}

static void set_level(struct depth *depth, unsigned level, uint64_t now_ns) {
    unsigned before = depth->current;
    depth->level = level;
    depth->current = 1u << level;
    begin_window(depth, before > depth->current ? before : depth->current, now_ns);
}

void depth_init_auto(struct depth *depth, uint64_t now_ns) {
    *depth = (struct depth){.phase = DEPTH_CLIMB, .first_level = START_LEVEL, .hold_ns = FIRST_HOLD_NS};
    set_level(depth, START_LEVEL, now_ns);
}

static void hold(struct depth *depth, unsigned level, uint64_t now_ns) {
    depth->phase = DEPTH_HOLD;
    depth->held_ns = now_ns;
    depth->odd_windows = 0;
    set_level(depth, level, now_ns);
}

/** Try the level below the best one, unless the climb came from there and it paid. */
static void descend(struct depth *depth, uint64_t now_ns) {
    if (depth->best_level == 0 || depth->best_level > depth->first_level) {
        hold(depth, depth->best_level, now_ns);
        return;
    }
    depth->phase = DEPTH_DESCEND;
    set_level(depth, depth->best_level - 1, now_ns);
}

static void climb_on(struct depth *depth, double rate, uint64_t now_ns) {
    bool is_first = depth->best_rate <= 0;
    if (is_first || rate > depth->best_rate * WORTH_IT) {
        depth->best_rate = rate;
        depth->best_level = depth->level;
        if (depth->level + 1 < DEPTH_LEVELS) {
            set_level(depth, depth->level + 1, now_ns);
            return;
        }
    }
    descend(depth, now_ns);
}

static void descend_on(struct depth *depth, double rate, uint64_t now_ns) {
    if (rate < depth->best_rate * COSTS_NOTHING) {
        hold(depth, depth->best_level, now_ns);
        return;
    }
    depth->best_level = depth->level;
    if (rate > depth->best_rate) {
        depth->best_rate = rate;
    }
    descend(depth, now_ns);
}

/** Search again from where we are: up first, because being too shallow is what costs time. */
static void restart(struct depth *depth, uint64_t now_ns) {
    depth->phase = DEPTH_CLIMB;
    depth->best_rate = 0;
    depth->first_level = depth->level;
    set_level(depth, depth->level, now_ns);
}

static void hold_on(struct depth *depth, double rate, uint64_t now_ns) {
    bool is_odd = rate > depth->best_rate * ROSE || rate < depth->best_rate * FELL;
    depth->odd_windows = is_odd ? depth->odd_windows + 1 : 0;
    if (depth->odd_windows >= ODD_WINDOWS) {
        depth->hold_ns = FIRST_HOLD_NS;
        restart(depth, now_ns);
    } else if (now_ns - depth->held_ns >= depth->hold_ns) {
        depth->hold_ns = depth->hold_ns * 2 < LONGEST_HOLD_NS ? depth->hold_ns * 2 : LONGEST_HOLD_NS;
        restart(depth, now_ns);
    } else {
        begin_window(depth, 0, now_ns);
    }
}

static void end_window(struct depth *depth, uint64_t now_ns) {
    double rate = (double)depth->window_bytes / (double)(now_ns - depth->window_ns);
    if (depth->phase == DEPTH_CLIMB) {
        climb_on(depth, rate, now_ns);
    } else if (depth->phase == DEPTH_DESCEND) {
        descend_on(depth, rate, now_ns);
    } else {
        hold_on(depth, rate, now_ns);
    }
}

void depth_observe(struct depth *depth, uint64_t bytes, uint64_t now_ns) {
    if (depth->phase == DEPTH_FIXED) {
        return;
    }
    depth->window_reads++;
    if (depth->settle_reads > 0) {
        if (depth->window_reads >= depth->settle_reads) {
            begin_window(depth, 0, now_ns);
        }
        return;
    }
    depth->window_bytes += bytes;
    unsigned looks = depth->phase == DEPTH_DESCEND ? DESCENT_LOOKS : 1;
    uint64_t enough = looks * (depth->current > 16 ? 2 * (uint64_t)depth->current : 32);
    if (now_ns - depth->window_ns >= looks * WINDOW_NS && depth->window_reads >= enough) {
        end_window(depth, now_ns);
    }
}

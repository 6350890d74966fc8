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

#define START_LEVEL 5u /* 32 reads */
#define WINDOW_NS (300 * NS_PER_MILLISECOND)
#define HOLD_NS (30 * NS_PER_SECOND)

/** Going deeper must pay this much; going shallower may cost at most this much. */
#define WORTH_IT 1.04
#define COSTS_NOTHING 0.98

/** A rate this far from the one found means that the volume has changed. */
#define CHANGED 0.25
#define ODD_WINDOWS 3u

void depth_init_fixed(struct depth *depth, unsigned reads) {
    *depth = (struct depth){.phase = DEPTH_FIXED, .current = reads};
}

static void begin_window(struct depth *depth, bool settle, uint64_t now_ns) {
    depth->is_settling = settle;
    depth->window_ns = now_ns;
    depth->window_bytes = 0;
    depth->window_reads = 0;
}

static void set_level(struct depth *depth, unsigned level, uint64_t now_ns) {
    depth->level = level;
    depth->current = 1u << level;
    begin_window(depth, true, now_ns);
}

void depth_init_auto(struct depth *depth, uint64_t now_ns) {
    *depth = (struct depth){.phase = DEPTH_CLIMB};
    set_level(depth, START_LEVEL, now_ns);
}

static void hold(struct depth *depth, unsigned level, uint64_t now_ns) {
    depth->phase = DEPTH_HOLD;
    depth->held_ns = now_ns;
    depth->odd_windows = 0;
    set_level(depth, level, now_ns);
}

/** From the best level, try the one below. */
static void descend(struct depth *depth, uint64_t now_ns) {
    if (depth->best_level == 0) {
        hold(depth, 0, now_ns);
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
    set_level(depth, depth->level, now_ns);
}

static void hold_on(struct depth *depth, double rate, uint64_t now_ns) {
    double change = rate / depth->best_rate - 1;
    bool is_odd = change > CHANGED || change < -CHANGED;
    depth->odd_windows = is_odd ? depth->odd_windows + 1 : 0;
    if (depth->odd_windows >= ODD_WINDOWS || now_ns - depth->held_ns >= HOLD_NS) {
        restart(depth, now_ns);
    } else {
        begin_window(depth, false, now_ns);
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
    depth->window_bytes += bytes;
    depth->window_reads++;
    uint64_t enough = depth->current > 16 ? 2 * (uint64_t)depth->current : 32;
    if (depth->is_settling) {
        if (depth->window_reads >= 2 * (uint64_t)depth->current) {
            begin_window(depth, false, now_ns);
        }
    } else if (now_ns - depth->window_ns >= WINDOW_NS && depth->window_reads >= enough) {
        end_window(depth, now_ns);
    }
}

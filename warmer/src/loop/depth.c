/**
 * How many reads to keep in flight.
 *
 * A cold volume answers a read in tens of milliseconds, so throughput grows with depth until a limit (of the
 * volume, the instance, or the fetches that EBS does at a time) is met; beyond it only the queue grows, and
 * the application's own reads wait in it. Too shallow costs time, too deep only patience: so the search
 * begins deep, doubles while that pays, then looks for the lowest depth that costs nothing, and rests. It
 * starts again when the rate is no longer the one it found, or after a while.
 *
 * A depth that is tried and found too shallow is time lost. No read takes less than the volume's own latency,
 * so `depth / latency` bounds what a depth can give (Little's law), and depths that cannot give the best rate
 * are not tried. That latency is reckoned in two ways, of which the lower holds: from the first reads to come
 * back at all, which met the shortest queue; and from how much the latencies differ, because what all reads
 * have to wait is a queue.
 *
 * A window counts only once as many reads as the depth have come back since the depth changed, and only when
 * it holds enough of them: one slow block must not look like a slow depth.
 */
#include "loop/depth.h"

#include "system/clock.h"

#include <stdbool.h>

#define START_LEVEL 8u /* 256 reads: what gp3's 1,000 MiB/s need at 91 ms a fetch */
/** The fewest reads at which a search begins, because climbing from below takes long. */
#define LOWEST_START 16u
#define WINDOW_NS (300 * NS_PER_MILLISECOND)

/** The first so many completions give the base latency. */
#define FIRST_READS 16u

/** With hundreds of reads in flight the first completions are the quickest ones, by about this factor. */
#define LUCK 1.7

/** The mean minus the quickest read of a window is too small by about this factor. */
#define SPREAD 1.3

/** A mean latency this many times the base is mostly waiting in a queue. */
#define QUEUEING 4.0

/** A step down is observed for so many windows, but abandoned early when it clearly fails. */
#define DESCENT_LOOKS 2u
#define CLEARLY_FAILS 0.85
#define EARLY_NS (100 * NS_PER_MILLISECOND)
#define FEWEST_READS 32u
#define MOST_READS 256u

/**
 * The rate of few reads is wrong by a few per cent, because latencies differ by half. That is more than a
 * step down may cost, so a close result needs so many reads.
 */
#define CLOSE_READS 1536u
#define CLEARLY_HOLDS 1.06

/** The first rest is short, because the first search saw few reads; each later one is twice as long. */
#define FIRST_HOLD_NS (15 * NS_PER_SECOND)
#define LONGEST_HOLD_NS (60 * NS_PER_SECOND)

/** A step up must gain this factor; a step down may cost at most this factor. */
#define WORTH_IT 1.02
#define COSTS_NOTHING 0.98

/** A rate so far above or below the best one means that the volume changed or the search was wrong. */
#define ROSE 1.25
#define FELL 0.95
#define ROSE_WINDOWS 1u
#define FELL_WINDOWS 3u

void depth_init_fixed(struct depth *depth, unsigned reads) {
    *depth = (struct depth){.phase = DEPTH_FIXED, .current = reads};
}

static void begin_window(struct depth *depth, uint64_t settle_reads, uint64_t now_ns) {
    depth->settle_reads = settle_reads;
    depth->window = (struct depth_window){.began_ns = now_ns, .least_ns = UINT64_MAX};
}

/** Is there a level above this one? */
static bool may_climb(const struct depth *depth, unsigned level) {
    return level + 1 < DEPTH_LEVELS && 1u << (level + 1) <= depth->most;
}

static void set_level(struct depth *depth, unsigned level, uint64_t now_ns) {
    unsigned before = depth->current;
    depth->level = level;
    depth->current = 1u << level;
    begin_window(depth, before > 0 ? before : depth->current, now_ns);
}

void depth_init_auto(struct depth *depth, unsigned most, unsigned reads, uint64_t now_ns) {
    unsigned level = 0;
    unsigned start = reads == 0 ? 1u << START_LEVEL : reads > LOWEST_START ? reads : LOWEST_START;
    *depth = (struct depth){.phase = DEPTH_CLIMB, .most = most, .hold_ns = FIRST_HOLD_NS};
    while (may_climb(depth, level) && 1u << (level + 1) <= start) {
        level++;
    }
    set_level(depth, level, now_ns);
}

static void hold(struct depth *depth, uint64_t now_ns) {
    depth->phase = DEPTH_HOLD;
    depth->held_ns = now_ns;
    depth->odd_windows = 0;
    set_level(depth, depth->best_level, now_ns);
}

/** The lowest level that can give the best rate at all, by Little's law. */
static unsigned lowest_possible(const struct depth *depth) {
    double by_first_ns = LUCK * depth->base_latency_ns;
    double by_spread_ns = SPREAD * depth->spread_ns;
    double latency_ns = by_first_ns < by_spread_ns ? by_first_ns : by_spread_ns;
    double needed = depth->best_rate / depth->read_bytes * latency_ns;
    unsigned level = depth->low_level;
    while (level < depth->best_level && (double)(1u << level) < needed) {
        level++;
    }
    return level;
}

/** Try halfway between what is too shallow and what is good; rest when they meet. */
static void descend(struct depth *depth, uint64_t now_ns) {
    unsigned lowest = lowest_possible(depth);
    if (lowest >= depth->best_level) {
        hold(depth, now_ns);
        return;
    }
    depth->phase = DEPTH_DESCEND;
    set_level(depth, (lowest + depth->best_level) / 2, now_ns);
}

static void climb_on(struct depth *depth, uint64_t now_ns) {
    if (depth->rate > depth->best_rate * WORTH_IT) {
        depth->best_rate = depth->rate;
        depth->best_level = depth->level;
        /* Where most of the time is spent in a queue already, a longer one gives nothing. */
        bool is_queueing =
            depth->base_latency_ns > 0 && depth->latency_ns > QUEUEING * depth->base_latency_ns;
        if (may_climb(depth, depth->level) && !is_queueing) {
            set_level(depth, depth->level + 1, now_ns);
            return;
        }
    }
    depth->low_level = 0;
    descend(depth, now_ns);
}

static void descend_on(struct depth *depth, uint64_t now_ns) {
    if (depth->rate < depth->best_rate * COSTS_NOTHING) {
        depth->low_level = depth->level + 1;
    } else {
        depth->best_level = depth->level;
        depth->best_rate = depth->rate > depth->best_rate ? depth->rate : depth->best_rate;
    }
    descend(depth, now_ns);
}

/** Search again, up first, because being too shallow is what costs time. */
static void restart(struct depth *depth, unsigned level, uint64_t now_ns) {
    depth->phase = DEPTH_CLIMB;
    depth->best_rate = 0;
    set_level(depth, level, now_ns);
}

static void rest_is_over(struct depth *depth, uint64_t now_ns) {
    depth->hold_ns = depth->hold_ns * 2 < LONGEST_HOLD_NS ? depth->hold_ns * 2 : LONGEST_HOLD_NS;
    restart(depth, depth->level, now_ns);
}

/** Where a search begins that knows nothing, or higher. */
static unsigned begin_level(const struct depth *depth) {
    unsigned level = depth->level;
    while (level < START_LEVEL && may_climb(depth, level)) {
        level++;
    }
    return level;
}

static void hold_on(struct depth *depth, uint64_t now_ns) {
    bool rose = depth->rate > depth->best_rate * ROSE;
    bool fell = depth->rate < depth->best_rate * FELL;
    depth->odd_windows = rose || fell ? depth->odd_windows + 1 : 0;
    if (rose && depth->odd_windows >= ROSE_WINDOWS) {
        depth->hold_ns = FIRST_HOLD_NS;
        restart(depth, begin_level(depth), now_ns);
    } else if (fell && depth->odd_windows >= FELL_WINDOWS) {
        depth->hold_ns = FIRST_HOLD_NS;
        restart(depth, depth->level, now_ns);
    } else if (now_ns - depth->held_ns >= depth->hold_ns) {
        rest_is_over(depth, now_ns);
    } else {
        begin_window(depth, 0, now_ns);
    }
}

static void end_window(struct depth *depth, uint64_t now_ns) {
    const struct depth_window *window = &depth->window;
    depth->read_bytes = (double)window->bytes / (double)window->reads;
    depth->rate = (double)window->bytes / (double)(now_ns - window->began_ns);
    depth->latency_ns = window->latency_ns / (double)window->reads;
    depth->spread_ns = depth->latency_ns - (double)window->least_ns;
    if (depth->base_latency_ns > depth->latency_ns) {
        depth->base_latency_ns = depth->latency_ns;
    }
    if (depth->phase == DEPTH_CLIMB) {
        climb_on(depth, now_ns);
    } else if (depth->phase == DEPTH_DESCEND) {
        descend_on(depth, now_ns);
    } else {
        hold_on(depth, now_ns);
    }
}

static void note_first(struct depth *depth, uint64_t latency_ns) {
    if (depth->first_reads < FIRST_READS) {
        depth->first_sum_ns += (double)latency_ns;
        depth->first_reads++;
        depth->base_latency_ns = depth->first_sum_ns / depth->first_reads;
    }
}

/** Is this descent hopeless, as far as the window shows? */
static bool is_failing(const struct depth *depth, uint64_t age_ns) {
    return depth->phase == DEPTH_DESCEND && age_ns >= EARLY_NS && depth->window.reads >= FEWEST_READS &&
           (double)depth->window.bytes < CLEARLY_FAILS * depth->best_rate * (double)age_ns;
}

/** Does this step down do about as well as the best so far, so that only more reads can tell? */
static bool is_close(const struct depth *depth, uint64_t age_ns) {
    double same = depth->best_rate * (double)age_ns;
    double bytes = (double)depth->window.bytes;
    return depth->phase == DEPTH_DESCEND && depth->window.reads < CLOSE_READS &&
           bytes >= CLEARLY_FAILS * same && bytes < CLEARLY_HOLDS * same;
}

static bool is_window_over(const struct depth *depth, uint64_t age_ns) {
    uint64_t looks = depth->phase == DEPTH_DESCEND ? DESCENT_LOOKS : 1;
    uint64_t reads = 2 * (uint64_t)depth->current;
    reads = reads < FEWEST_READS ? FEWEST_READS : reads > MOST_READS ? MOST_READS : reads;
    return age_ns >= looks * WINDOW_NS && depth->window.reads >= looks * reads && !is_close(depth, age_ns);
}

void depth_observe(struct depth *depth, uint64_t bytes, uint64_t latency_ns, uint64_t now_ns) {
    if (depth->phase == DEPTH_FIXED) {
        return;
    }
    note_first(depth, latency_ns);
    depth->window.reads++;
    if (depth->settle_reads > 0) {
        if (depth->window.reads >= depth->settle_reads) {
            begin_window(depth, 0, now_ns);
        }
        return;
    }
    depth->window.bytes += bytes;
    depth->window.latency_ns += (double)latency_ns;
    depth->window.least_ns = latency_ns < depth->window.least_ns ? latency_ns : depth->window.least_ns;
    uint64_t age_ns = now_ns - depth->window.began_ns;
    if (is_failing(depth, age_ns) || is_window_over(depth, age_ns)) {
        end_window(depth, now_ns);
    }
}

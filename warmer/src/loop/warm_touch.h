#ifndef WARMER_WARM_TOUCH_H
#define WARMER_WARM_TOUCH_H

#include "loop/touch.h"
#include "loop/warm.h"

/** What a warm-up by touches needs in addition to its settings. */
struct warm_touch {
    uint64_t seed;
    const struct block_set *wanted; /**< The blocks of the plan. */
    const struct extents *first; /**< The blocks that come first, if every block is read whole after all. */
    struct touch_result result;
};

/**
 * Measure whether touches are enough. If they are, touch every block of the plan and check some of them;
 * otherwise, or if the check fails, read every block whole. Touched blocks are recorded only after the check.
 * Returns as warm_run.
 */
int warm_touch_run(struct warm_settings *settings, struct warm_touch *touch, struct warm_result *result);

#endif

#ifndef WARMER_WARM_TOUCH_H
#define WARMER_WARM_TOUCH_H

#include "loop/touch.h"
#include "loop/warm.h"

/** What a warm-up by touches needs beside its settings. */
struct warm_touch {
    uint64_t seed;
    const struct block_set *wanted; /**< What the plan reads. */
    const struct extents *first;    /**< In which order, for the case that all is read after all. */
    struct touch_result result;
};

/**
 * Measure, then touch every block of the plan or read it whole, as the device allows; verify touches, and
 * read all where they were not enough. Touched blocks are remembered only once they are verified. As
 * warm_run.
 */
int warm_touch_run(struct warm_settings *settings, struct warm_touch *touch, struct warm_result *result);

#endif

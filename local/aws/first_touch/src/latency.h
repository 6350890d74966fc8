/* How long the first touch of a block takes: drawn from the seed and the place, never from the order of
 * reads, so that two runs with one seed agree block by block. */
#ifndef FIRST_TOUCH_LATENCY_H
#define FIRST_TOUCH_LATENCY_H

#include <stdint.h>

struct latency_model {
    /* Log-normal: the mean of the latency itself, and the standard deviation of its logarithm. */
    double mean_ms;
    double sigma;
    /* This share of the fetches takes `tail_seconds` instead. */
    double tail_probability;
    double tail_seconds;
    uint64_t seed;
};

/* The latency in nanoseconds of the fetch that starts at page `page` of the volume. */
uint64_t latency_draw_ns(const struct latency_model *model, uint64_t page);

#endif

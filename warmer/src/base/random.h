#ifndef WARMER_RANDOM_H
#define WARMER_RANDOM_H

#include <stdint.h>

/** SplitMix64 (Steele, Lea, Flood 2014). The same seed gives the same numbers on every system. */
struct random {
    uint64_t state;
};

/** The next 64 bits. */
uint64_t random_next(struct random *random);

/** A number from 0 to limit-1; `limit` is not 0. */
uint64_t random_below(struct random *random, uint64_t limit);

#endif

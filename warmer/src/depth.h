#ifndef WARMER_DEPTH_H
#define WARMER_DEPTH_H

#include <stdint.h>

/** The most reads that are ever in flight. */
#define DEPTH_LIMIT 1024u

/** The most that the search goes to by itself. */
#define DEPTH_AUTO_LIMIT 256u

/** Number of depths that the search knows: 1, 2, 4 .. 256. */
#define DEPTH_LEVELS 9u

/** What the search is doing. */
enum depth_phase { DEPTH_FIXED, DEPTH_CLIMB, DEPTH_DESCEND, DEPTH_HOLD };

/** Looks for the lowest number of reads in flight that gives the highest throughput. */
struct depth {
    enum depth_phase phase;
    unsigned current;
    unsigned level;   /**< current == 1 << level, unless fixed. */
    double best_rate; /**< Bytes a nanosecond at the best level so far. */
    unsigned best_level;
    unsigned first_level;  /**< Where this search began; levels below it are not measured yet. */
    uint64_t settle_reads; /**< Reads issued at the depth before that are still to come back. */
    uint64_t window_ns;    /**< When this window began. */
    uint64_t window_bytes;
    uint64_t window_reads;
    uint64_t held_ns;     /**< When the search last came to rest. */
    uint64_t hold_ns;     /**< How long it rests. */
    unsigned odd_windows; /**< Windows in a row whose rate is not that of the search. */
};

/** Always `reads` in flight. */
void depth_init_fixed(struct depth *depth, unsigned reads);

/** Search. */
void depth_init_auto(struct depth *depth, uint64_t now_ns);

/** A read of `bytes` came back; may change `depth->current`. */
void depth_observe(struct depth *depth, uint64_t bytes, uint64_t now_ns);

#endif

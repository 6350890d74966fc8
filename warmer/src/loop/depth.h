#ifndef WARMER_DEPTH_H
#define WARMER_DEPTH_H

#include <stdint.h>

/** The largest number of reads in flight. */
#define DEPTH_LIMIT 1024u

/** The largest number of reads in flight that the search tries. */
#define DEPTH_AUTO_LIMIT DEPTH_LIMIT

/** The number of depths that the search tries: 1, 2, 4 .. 1024. */
#define DEPTH_LEVELS 11u

/** What the search is doing. */
enum depth_phase { DEPTH_FIXED, DEPTH_CLIMB, DEPTH_DESCEND, DEPTH_HOLD };

/** The reads that completed in a period of time. */
struct depth_window {
    uint64_t began_ns;
    uint64_t bytes;
    uint64_t reads;
    double latency_ns; /**< The sum of their latencies. */
    uint64_t least_ns; /**< The latency of the quickest read. */
};

/** The search for the lowest number of reads in flight that gives the highest throughput. */
struct depth {
    enum depth_phase phase;
    unsigned current;
    unsigned most;
    unsigned level;   /**< current == 1 << level, unless fixed. */
    double best_rate; /**< Bytes a nanosecond at the best level so far. */
    unsigned best_level;
    unsigned low_level;    /**< Levels below this one are known to be too shallow. */
    uint64_t settle_reads; /**< Reads issued at the previous depth that are still in flight. */
    struct depth_window window;
    double rate;            /**< Bytes a nanosecond in the last whole window; 0 before the first. */
    double latency_ns;      /**< Mean in the last whole window. */
    double spread_ns;       /**< How far the quickest read of that window was below the mean. */
    double read_bytes;      /**< Mean size of its reads. */
    double base_latency_ns; /**< The latency of a read that queues behind no other; 0: not known yet. */
    double first_sum_ns; /**< The sum of the latencies of the first reads, from which the base is computed. */
    unsigned first_reads;
    uint64_t held_ns;     /**< When the search last came to rest. */
    uint64_t hold_ns;     /**< How long it rests. */
    unsigned odd_windows; /**< Windows in a row whose rate is not that of the search. */
};

/** Keep `reads` in flight, without a search. */
void depth_init_fixed(struct depth *depth, unsigned reads);

/** Search among 1 to `most`, beginning at `reads`, the result of an earlier run; 0 if there is none. */
void depth_init_auto(struct depth *depth, unsigned most, unsigned reads, uint64_t now_ns);

/** Count a completed read of `bytes`. This may change `depth->current`. */
void depth_observe(struct depth *depth, uint64_t bytes, uint64_t latency_ns, uint64_t now_ns);

#endif

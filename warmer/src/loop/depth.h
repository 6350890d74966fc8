#ifndef WARMER_DEPTH_H
#define WARMER_DEPTH_H

#include <stdint.h>

/** The most reads that are ever in flight. */
#define DEPTH_LIMIT 1024u

/** The most that the search goes to by itself. */
#define DEPTH_AUTO_LIMIT DEPTH_LIMIT

/** Number of depths that the search knows: 1, 2, 4 .. 1024. */
#define DEPTH_LEVELS 11u

/** What the search is doing. */
enum depth_phase { DEPTH_FIXED, DEPTH_CLIMB, DEPTH_DESCEND, DEPTH_HOLD };

/** What came back in a stretch of time. */
struct depth_window {
    uint64_t began_ns;
    uint64_t bytes;
    uint64_t reads;
    double latency_ns; /**< Sum. */
    uint64_t least_ns; /**< Latency of the quickest read. */
};

/** Looks for the lowest number of reads in flight that gives the highest throughput. */
struct depth {
    enum depth_phase phase;
    unsigned current;
    unsigned most;
    unsigned level;   /**< current == 1 << level, unless fixed. */
    double best_rate; /**< Bytes a nanosecond at the best level so far. */
    unsigned best_level;
    unsigned low_level;    /**< Levels below this one are known to be too shallow. */
    uint64_t settle_reads; /**< Reads issued at the depth before that are still to come back. */
    struct depth_window window;
    double rate;            /**< Bytes a nanosecond in the last whole window; 0 before the first. */
    double latency_ns;      /**< Mean in the last whole window. */
    double spread_ns;       /**< How far the quickest read of that window was below the mean. */
    double read_bytes;      /**< Mean size of its reads. */
    double base_latency_ns; /**< Of a read that queues behind no other, as far as known; 0: not yet. */
    double first_sum_ns;    /**< Latencies of the reads that came back first, of which the base is made. */
    unsigned first_reads;
    uint64_t held_ns;     /**< When the search last came to rest. */
    uint64_t hold_ns;     /**< How long it rests. */
    unsigned odd_windows; /**< Windows in a row whose rate is not that of the search. */
};

/** Always `reads` in flight. */
void depth_init_fixed(struct depth *depth, unsigned reads);

/** Search among 1 to `most`, from `reads` on where an earlier run came to rest there; 0: not known. */
void depth_init_auto(struct depth *depth, unsigned most, unsigned reads, uint64_t now_ns);

/** A read of `bytes` came back; may change `depth->current`. */
void depth_observe(struct depth *depth, uint64_t bytes, uint64_t latency_ns, uint64_t now_ns);

#endif

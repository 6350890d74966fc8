#ifndef WARMER_WARM_H
#define WARMER_WARM_H

#include "base/extents.h"
#include "base/latency.h"
#include "engines/engine.h"
#include "loop/depth.h"
#include "plan/plan.h"

#include <stdbool.h>
#include <stdint.h>

/** The largest number of blocks in one read. The engine's buffer holds so many. */
#define WARM_RUN_BLOCKS 2u
#define WARM_BUFFER_BYTES (WARM_RUN_BLOCKS * BLOCK_BYTES)

/** What has completed so far; reads in flight do not count. */
struct warm_progress {
    uint64_t bytes_done;  /**< Bytes of blocks that are read to their end, in this run or earlier. */
    uint64_t bytes_total; /**< Bytes of all blocks of the map. */
    uint64_t blocks_done;
    uint64_t blocks_total;
    uint64_t blocks_failed;
    uint64_t bytes_resumed; /**< The part of bytes_done that earlier runs had read. */
    uint64_t bytes_read;    /**< Bytes that the device returned in this run. */
    uint64_t reads;         /**< Reads that returned data in this run. */
    uint64_t short_reads;   /**< Those of them that ended early and were continued. */
    uint64_t retries;       /**< Reads repeated after a temporary error. */
    uint64_t first_total;   /**< Blocks of the map that were asked for first (`--first`). */
    uint64_t first_done;    /**< Those of them that are read to their end. */
    uint64_t first_ns;      /**< When the last of them was, since the beginning; 0: before it, or not yet. */
    uint64_t elapsed_ns;
    unsigned depth;      /**< The number of reads to keep in flight now. */
    unsigned rest_depth; /**< The last result of the search for a depth; 0: none yet. */
    struct latency latency;
    struct latency probes; /**< Latencies of the probes (--polite-latency-ms). */
};

/** Records a block that is read to its end, so that the next run skips it. */
typedef void warm_remember(void *context, uint64_t block);

/** Shows progress. It is called often and must be quick. */
typedef void warm_observe(void *context, const struct warm_progress *progress);

/**
 * Called when a block has failed for good, with the errno of its read, or 0 if the device ended before it.
 * Returns NULL if the device is still there, or the reason why it is not, which must live as long as the
 * device.
 */
typedef const char *warm_find_gone(void *context, int error);

/** How much is known of the blocks that come first: nothing yet, what comes first of them, or all. */
enum warm_first { WARM_FIRST_UNKNOWN, WARM_FIRST_SOME, WARM_FIRST_ALL };

/**
 * Puts into the plan the blocks that come first, as far as they are known, and sets `bytes` to what was read
 * since the last call to find them. It is called again until all are known.
 */
typedef enum warm_first warm_put_first(void *context, struct plan *plan, uint64_t *bytes);

/** The arguments of a warm-up. The caller owns everything that they point to. */
struct warm_settings {
    struct engine *engine;
    struct plan *plan;
    uint64_t device_bytes;
    uint32_t alignment_bytes;
    unsigned max_in_flight;   /**< The engine must take one more, for a probe. */
    unsigned fixed_depth;     /**< 0: search for the depth. */
    unsigned start_depth;     /**< Where the search begins; 0: not known. */
    uint32_t touch_bytes;     /**< How much of the beginning of each block is read; 0: whole blocks. */
    double max_mib_s;         /**< 0: no limit. */
    uint64_t bytes_before;    /**< Bytes read just before, which count towards the limit. */
    double polite_latency_ms; /**< 0: no limit. */
    bool first_unlimited;     /**< The latency limit begins after the plan's leading blocks. */
    uint64_t (*now_ns)(void);
    bool (*is_interrupted)(void);
    warm_put_first *put_first; /**< May be NULL: the plan is complete. */
    void *first_context;
    warm_find_gone *find_gone; /**< May be NULL: then a failed block never ends the run. */
    void *gone_context;
    warm_remember *remember; /**< May be NULL. */
    void *remember_context;
    warm_observe *observe; /**< May be NULL. */
    void *observe_context;
};

/** How a warm-up ended. */
struct warm_result {
    struct warm_progress progress; /**< The caller sets bytes_total and the resumed part before the run. */
    struct extents failed;         /**< Blocks that could not be read, ascending. The caller clears it. */
    bool was_interrupted;
    const char
        *gone;       /**< Why the device disappeared, or NULL. Blocks not read by then are not in `failed`. */
    int first_error; /**< The errno of the first block that failed, or 0. */
    int engine_error; /**< The errno with which the engine itself failed, or 0. */
};

/** Read every block of the plan. Returns 0, or -ENOMEM before anything is read. */
int warm_run(const struct warm_settings *settings, struct warm_result *result);

#endif

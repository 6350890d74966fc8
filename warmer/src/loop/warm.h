#ifndef WARMER_WARM_H
#define WARMER_WARM_H

#include "base/extents.h"
#include "base/latency.h"
#include "engines/engine.h"
#include "loop/depth.h"
#include "plan/plan.h"

#include <stdbool.h>
#include <stdint.h>

/** The most blocks that one read takes; the engine's buffer has room for them. */
#define WARM_RUN_BLOCKS 2u
#define WARM_BUFFER_BYTES (WARM_RUN_BLOCKS * BLOCK_BYTES)

/** What has really been done so far: completions, never what was merely issued. */
struct warm_progress {
    uint64_t bytes_done;  /**< Of blocks that are read to their end, those of earlier runs included. */
    uint64_t bytes_total; /**< Of all blocks of the map. */
    uint64_t blocks_done;
    uint64_t blocks_total;
    uint64_t blocks_failed;
    uint64_t bytes_resumed; /**< Part of bytes_done that earlier runs had read. */
    uint64_t bytes_read;    /**< That the device gave in this run. */
    uint64_t reads;         /**< That came back with data in this run. */
    uint64_t short_reads;   /**< Of these, ones that needed another for the rest. */
    uint64_t retries;       /**< Reads repeated after a passing error. */
    uint64_t elapsed_ns;
    unsigned depth;      /**< Reads in flight now aimed at. */
    unsigned rest_depth; /**< At which the search came to rest last; 0: not yet. */
    struct latency latency;
    struct latency probes; /**< Of the small reads that politeness measures with. */
};

/** Remembers a block that is read to its end, so that the next run need not. */
typedef void warm_remember(void *context, uint64_t block);

/** Shows progress; called often, must be quick. */
typedef void warm_observe(void *context, const struct warm_progress *progress);

/**
 * Is the device no longer there? Asked when a block has failed for good, with the errno of its read, or 0
 * where the device ended before it. NULL while it is there, else why it is not, which lives as long as the
 * device.
 */
typedef const char *warm_find_gone(void *context, int error);

/**
 * Put into the plan what comes before the rest, if that is known by now; false while it is not, and then this
 * is asked again. `bytes`: what was read to know it.
 */
typedef bool warm_put_first(void *context, struct plan *plan, uint64_t *bytes);

/** What the loop works with; all of it the caller's. */
struct warm_settings {
    struct engine *engine;
    struct plan *plan;
    uint64_t device_bytes;
    uint32_t alignment_bytes;
    unsigned max_in_flight;   /**< The engine takes one more than this, for a probe. */
    unsigned fixed_depth;     /**< 0: search. */
    unsigned start_depth;     /**< Where the search begins; 0: not known. */
    uint32_t touch_bytes;     /**< 0: whole blocks; else only so much from the beginning of each. */
    double max_mib_s;         /**< 0: no limit. */
    uint64_t bytes_before;    /**< Read right before, which counts for the limit. */
    double polite_latency_ms; /**< 0: no limit. */
    uint64_t (*now_ns)(void);
    bool (*is_interrupted)(void);
    warm_put_first *put_first; /**< May be NULL: the plan has its order. */
    void *first_context;
    warm_find_gone *find_gone; /**< May be NULL: then each block answers for itself. */
    void *gone_context;
    warm_remember *remember; /**< May be NULL. */
    void *remember_context;
    warm_observe *observe; /**< May be NULL. */
    void *observe_context;
};

/** How it ended. */
struct warm_result {
    struct warm_progress progress; /**< Set bytes_total and the resumed part before the run. */
    struct extents failed;         /**< Blocks that could not be read, ascending; the caller clears it. */
    bool was_interrupted;
    const char *gone; /**< Why the device is no longer there; what was not read by then is not in `failed`. */
    int first_error;  /**< errno of the first block that failed, or 0. */
    int engine_error; /**< errno if the engine itself gave up, or 0. */
};

/** Read every block of the plan; 0, or -ENOMEM before anything is read. */
int warm_run(const struct warm_settings *settings, struct warm_result *result);

#endif

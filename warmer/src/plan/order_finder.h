#ifndef WARMER_ORDER_FINDER_H
#define WARMER_ORDER_FINDER_H

#include "base/block_set.h"
#include "device/device.h"
#include "filesystems/metadata.h"
#include "filesystems/order/order.h"
#include "plan/cold_source.h"

#include <stdbool.h>

/**
 * Finds out which blocks come before the rest, in a thread, while the warm-up reads. On a cold device its few
 * reads take tenths of a second for the file systems' structures, and seconds for files, because each one
 * depends on the one before.
 */
struct order_finder;

/** How far the finder is. */
enum order_stage { ORDER_SEARCHING, ORDER_HAS_STRUCTURES, ORDER_HAS_ALL };

/** What was found; the finder owns it. Each member may be read from the stage on that is named. */
struct order_found {
    struct metadata metadata;                /**< ORDER_HAS_STRUCTURES. */
    uint64_t blocks;                         /**< How many of the wanted blocks are metadata; the same. */
    struct order order;                      /**< ORDER_HAS_ALL. */
    struct cold_counts counts_of_structures; /**< ORDER_HAS_STRUCTURES. */
    struct cold_counts counts;               /**< Of all, ORDER_HAS_ALL. */
};

/** What the finder is to do. All that it points to must outlive it and not change. */
struct order_task {
    const struct device *device;
    const struct block_set *wanted; /**< Blocks that are still to be read. */
    const struct block_set *done;   /**< No others than these two kinds are read. */
    const struct extents *leading;  /**< Blocks that are read before all of these (`--first`). */
    const struct metadata *known;   /**< Metadata that needs no search, or NULL. */
    unsigned sources;               /**< The sum of enum order_source. */
};

/** Start the finder. Returns NULL if it cannot be started. */
struct order_finder *order_finder_start(const struct order_task *task);

/** What was found so far; sets `stage`. */
const struct order_found *order_finder_poll(struct order_finder *finder, enum order_stage *stage);

/** Stop the finder after its current read, wait for its end, and return what was found. */
const struct order_found *order_finder_end(struct order_finder *finder);

/** Stop the finder and free it. NULL is allowed. */
void order_finder_close(struct order_finder *finder);

#endif

#ifndef WARMER_METADATA_FINDER_H
#define WARMER_METADATA_FINDER_H

#include "base/block_set.h"
#include "device/device.h"
#include "filesystems/metadata.h"
#include "plan/cold_source.h"

#include <stdbool.h>

/**
 * Looks for file systems in a thread of its own: on a cold device its few reads, each of which must be back
 * before the next one is known, take tenths of a second in which the warm-up need not stand still.
 */
struct metadata_finder;

/** What it has found when it is over. */
struct metadata_found {
    struct metadata metadata; /**< The finder's. */
    uint64_t blocks;          /**< Of those that are still to be read, how many are metadata. */
    struct cold_counts counts;
};

/**
 * Begin. Only blocks of `wanted` and `done` are read, which stay as they are until the finder is closed;
 * `wanted` are those that are still to be read. NULL where it cannot be begun.
 */
struct metadata_finder *metadata_finder_start(const struct device *device, const struct block_set *wanted,
                                              const struct block_set *done);

/** What it has found; NULL while it is looking. */
const struct metadata_found *metadata_finder_poll(struct metadata_finder *finder);

/** Let it end soon, wait for that; what it has found by then. */
const struct metadata_found *metadata_finder_end(struct metadata_finder *finder);

/** End it, and free it; NULL is allowed. */
void metadata_finder_close(struct metadata_finder *finder);

/** How many blocks of a list are in a set. */
uint64_t metadata_count(const struct metadata *metadata, const struct block_set *set);

#endif

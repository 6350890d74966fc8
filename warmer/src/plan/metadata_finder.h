#ifndef WARMER_METADATA_FINDER_H
#define WARMER_METADATA_FINDER_H

#include "base/block_set.h"
#include "device/device.h"
#include "filesystems/metadata.h"
#include "plan/cold_source.h"

#include <stdbool.h>

/**
 * Finds the metadata of file systems in a thread, while the warm-up reads. On a cold device its few reads
 * take tenths of a second, because each one depends on the one before.
 */
struct metadata_finder;

/** The result of the finder. */
struct metadata_found {
    struct metadata metadata; /**< Owned by the finder. */
    uint64_t blocks;          /**< How many of the wanted blocks are metadata. */
    struct cold_counts counts;
};

/**
 * Start the finder. It reads only blocks of `wanted`, which are still to be read, and of `done`; both must
 * not change until it is closed. Returns NULL if it cannot be started.
 */
struct metadata_finder *metadata_finder_start(const struct device *device, const struct block_set *wanted,
                                              const struct block_set *done);

/** The result, or NULL while the finder is still reading. */
const struct metadata_found *metadata_finder_poll(struct metadata_finder *finder);

/** Stop the finder after its current read, wait for its end, and return the result. */
const struct metadata_found *metadata_finder_end(struct metadata_finder *finder);

/** Stop the finder and free it. NULL is allowed. */
void metadata_finder_close(struct metadata_finder *finder);

#endif

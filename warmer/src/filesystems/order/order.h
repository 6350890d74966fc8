#ifndef WARMER_ORDER_H
#define WARMER_ORDER_H

#include "base/block_set.h"
#include "base/extents.h"
#include "filesystems/source.h"

#include <stddef.h>
#include <stdint.h>

/** Why a block comes before the rest. */
enum order_source {
    ORDER_STRUCTURES = 1, /**< A file system keeps itself there (metadata.h). */
    ORDER_LISTS = 2,      /**< A database has listed it as what its cache held. */
    ORDER_LOGS = 4,       /**< A database's write-ahead log lies there. */
    ORDER_RECENT = 8,     /**< A file that was changed in the last day lies there. */
};

#define ORDER_NONE 0u
#define ORDER_AUTO 15u

/** At most so many sets are reported; the blocks of further sets still count. */
#define ORDER_SETS 16u

/** The age of which nothing is known. */
#define ORDER_AGELESS INT64_MIN

/** Blocks with one reason. */
struct order_set {
    enum order_source source;
    const char *what;
    uint64_t blocks;     /**< Wanted blocks that no earlier set had. */
    int64_t changed;     /**< When it was written, in seconds since 1970, or ORDER_AGELESS. */
    int64_t age_seconds; /**< How much older it is than the newest of its file system, or ORDER_AGELESS. */
};

/** What was found; zero-initialise it before use. */
struct order {
    struct extents blocks; /**< In the order of reading; no block is in it twice. */
    struct order_set sets[ORDER_SETS];
    size_t length;
};

/** What bounds the search, beside the limits of order_find itself. */
struct order_limits {
    const struct block_set *wanted; /**< Only these blocks are listed. */
    const struct extents *before;   /**< Blocks that come earlier anyway; they are not listed. May be NULL. */
    uint64_t most_blocks;           /**< So many blocks are listed. */
    uint64_t most_bytes;            /**< About so many bytes are read. */
};

/** The name of a source, as --order has it. */
const char *order_source_name(enum order_source source);

/**
 * Find what ORDER_LISTS, ORDER_LOGS and ORDER_RECENT of `sources` name, in this order, in the ext4 and XFS
 * file systems of a device. What is damaged or not understood is left out. The caller clears the list of
 * blocks.
 */
void order_find(const struct source *device, unsigned sources, const struct order_limits *limits,
                struct order *order);

#endif

#ifndef WARMER_COLD_SOURCE_H
#define WARMER_COLD_SOURCE_H

#include "base/block_set.h"
#include "device/device.h"
#include "filesystems/source.h"

/**
 * A cold device as a source of metadata. Announced ranges are touched with many reads in flight, because each
 * first read of a block is slow; reads then come in pieces of up to 512 KiB.
 */
struct cold_source;

/** How much was read. */
struct cold_counts {
    uint64_t reads;
    uint64_t bytes;
};

/** Whether this block may be read. Called before each read, in the thread that reads. */
typedef bool cold_may_read(void *context, uint64_t block);

/**
 * Open a source over `device`, which must outlive it, with the engine called `engine`; if that cannot be
 * opened, reads are done one by one. A read of a block that `may_read` forbids fails; `may_read` may be NULL.
 * Returns NULL when memory is short.
 */
struct cold_source *cold_source_open(const struct device *device, const char *engine, cold_may_read *may_read,
                                     void *context);

/** The source; valid until it is closed. */
struct source cold_source_of(struct cold_source *cold);

/** How much was read so far, without the reads in flight. */
struct cold_counts cold_source_counts(const struct cold_source *cold);

/** Close; NULL is allowed. */
void cold_source_close(struct cold_source *cold);

#endif

#ifndef WARMER_COLD_SOURCE_H
#define WARMER_COLD_SOURCE_H

#include "base/block_set.h"
#include "device/device.h"
#include "filesystems/source.h"

/**
 * A device as a source of metadata. What is expected is touched with many reads in flight, because each
 * first read of a block is slow on a cold volume; what is read then comes in pieces of up to 512 KiB.
 */
struct cold_source;

/** What it has read. */
struct cold_counts {
    uint64_t reads;
    uint64_t bytes;
};

/** May this block be read? Asked before each read, by whoever reads. */
typedef bool cold_may_read(void *context, uint64_t block);

/**
 * Open over `device`, which outlives it, with the engine called `engine`. Blocks that may not be read answer
 * an error; without `may_read` all may be. NULL when memory is short. Without an engine it reads one by one.
 */
struct cold_source *cold_source_open(const struct device *device, const char *engine, cold_may_read *may_read,
                                     void *context);

/** The source, for as long as it is open. */
struct source cold_source_of(struct cold_source *cold);

/** Reads so far, those in flight excepted. */
struct cold_counts cold_source_counts(const struct cold_source *cold);

/** Close; NULL is allowed. */
void cold_source_close(struct cold_source *cold);

#endif

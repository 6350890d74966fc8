#ifndef WARMER_RECORDING_H
#define WARMER_RECORDING_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/** What a recording holds at most: 64 GiB of a volume. */
#define RECORDING_BLOCKS 131072u

/** The blocks that were read, in the order of their first reads, and how often each was. */
struct recording;

/** What is written beside the blocks. Times are those of clock_now_ns. */
struct recording_facts {
    const char *volume_id; /**< Empty: not known. */
    const char *source;    /**< What counted the reads: histogram or events. */
    uint64_t begin_ns;
    uint64_t end_ns;
    uint64_t dropped; /**< Reads that the kernel has lost. */
    bool has_warm_up; /**< Somebody says which blocks a warm-up had read. */
    bool is_complete; /**< It went on for the whole time that was asked for. */
};

/** Create an empty recording of at most `most_blocks` blocks. Returns NULL when memory is short. */
struct recording *recording_create(uint64_t device_bytes, uint32_t most_blocks);

/** Free it; NULL is allowed. */
void recording_destroy(struct recording *recording);

/** Note one read of `sectors` sectors of 512 bytes from `sector`: it counts for each block that it touches.
 */
void recording_add_read(struct recording *recording, uint64_t sector, uint64_t sectors, uint64_t time_ns);

/**
 * Note what a histogram has of a block: `reads` so far began in it, and the furthest of them ended before
 * sector `end`. The same again, or with larger numbers, is no further read of what is known.
 */
void recording_set_reads(struct recording *recording, uint64_t block, uint64_t reads, uint64_t end,
                         uint64_t time_ns);

uint64_t recording_blocks(const struct recording *recording);

/** All reads of all blocks. */
uint64_t recording_reads(const struct recording *recording);

/** Reads of blocks that had no more room. */
uint64_t recording_dropped(const struct recording *recording);

/** Whether nobody may have read a block before the application did. */
typedef bool recording_ask_cold(void *context, uint64_t block);

/** Ask about the blocks that came since the last call, and count those that were cold. */
void recording_count_cold(struct recording *recording, recording_ask_cold *is_cold, void *context);

uint64_t recording_cold(const struct recording *recording);

bool recording_is_full(const struct recording *recording);

/**
 * Write the recording: a line of JSON, then `BLOCK READS SECOND` of each block, by first reads, and of equal
 * times by block. Returns 0 or -errno.
 */
int recording_write(const struct recording *recording, const struct recording_facts *facts, FILE *stream);

#endif

#ifndef WARMER_TOUCH_H
#define WARMER_TOUCH_H

#include "base/block_set.h"
#include "base/json.h"

#include <stdbool.h>
#include <stdint.h>

/** The bytes of each block that a touch reads. */
#define TOUCH_BYTES 4096u

/** The largest number of reads in one call of touch_read. */
#define TOUCH_AT_ONCE 32u

/**
 * Read TOUCH_BYTES at each of `count` offsets, all at once and past every cache. Sets the milliseconds that
 * each read took, or a negative number if it failed.
 */
typedef void touch_read(void *context, const uint64_t *offsets, unsigned count, double *milliseconds);

/** The device on which touches are tried. */
struct touch_device {
    touch_read *read;
    void *context;
    uint64_t bytes;
    uint64_t seed;
};

/** The measurement and the decision. */
struct touch_result {
    bool was_asked;
    bool is_used;          /**< Touches are used: 4 KiB of each block are read. */
    bool fell_back;        /**< The check afterwards failed, so every block was read whole. */
    unsigned samples;      /**< Cold blocks that were measured before. */
    uint64_t sample_bytes; /**< Bytes that the last measurement or check read. */
    double first_ms;       /**< The median of the first reads. */
    double rest_ms;        /**< The median of the slowest of three later reads in the same block. */
    unsigned checks;       /**< Blocks that were checked afterwards. */
    unsigned slow_checks;
    char note[128]; /**< Why touches are not used, or no longer used. */
};

/**
 * Measure on a few blocks of `wanted` whether the first small read of a block makes the rest of it fast. Sets
 * `result`; its is_used is the answer.
 */
void touch_measure(const struct touch_device *device, const struct block_set *wanted,
                   struct touch_result *result);

/** Check whether a few touched blocks are fast. Returns false, and sets fell_back, if they are not. */
bool touch_verify(const struct touch_device *device, const struct block_set *touched,
                  struct touch_result *result);

/** Write the member "touch" of the report; null if touches were not asked for. */
void touch_put(struct json *json, const struct touch_result *result);

#endif

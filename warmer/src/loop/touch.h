#ifndef WARMER_TOUCH_H
#define WARMER_TOUCH_H

#include "base/block_set.h"
#include "base/json.h"

#include <stdbool.h>
#include <stdint.h>

/** What a touch reads of each block. */
#define TOUCH_BYTES 4096u

/** The most reads that are asked for at once. */
#define TOUCH_AT_ONCE 32u

/**
 * Reads TOUCH_BYTES at each of `count` offsets, at once and past every cache, and says how many milliseconds
 * each took; below zero where it failed.
 */
typedef void touch_read(void *context, const uint64_t *offsets, unsigned count, double *milliseconds);

/** A device on which touches are tried. */
struct touch_device {
    touch_read *read;
    void *context;
    uint64_t bytes;
    uint64_t seed;
};

/** What was measured, and what came of it. */
struct touch_result {
    bool was_asked;
    bool is_used;          /**< One page a block was read. */
    bool fell_back;        /**< It turned out not to be enough: all was read after all. */
    unsigned samples;      /**< Cold blocks tried before. */
    uint64_t sample_bytes; /**< Read by the last trial, before or after. */
    double first_ms;       /**< Median of their first reads. */
    double rest_ms;        /**< Median of the slowest of three later reads elsewhere in the same block. */
    unsigned checks;       /**< Blocks tried afterwards. */
    unsigned slow_checks;
    char note[128]; /**< Why touches are not, or no longer, used. */
};

/**
 * Does the first small read of a block make the rest of it fast on this device? Tries a few blocks of
 * `wanted` and answers in `result`; is_used says yes.
 */
void touch_measure(const struct touch_device *device, const struct block_set *wanted,
                   struct touch_result *result);

/** Are blocks fast now that one page of each was read? Tries a few; false sets fell_back. */
bool touch_verify(const struct touch_device *device, const struct block_set *touched,
                  struct touch_result *result);

/** The member "touch" of the report; null where it was not asked for. */
void touch_put(struct json *json, const struct touch_result *result);

#endif

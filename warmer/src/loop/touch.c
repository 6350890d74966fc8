/**
 * Is one page of a block enough? AWS does not say, so each device must show it before and after.
 *
 * Before: the first reads of a few blocks must be slow, and reads elsewhere in the same blocks fast right
 * after. Afterwards: reads at random places of a few touched blocks must be fast.
 */
#include "loop/touch.h"

#include "base/random.h"

#include <stdio.h>
#include <stdlib.h>

#define SAMPLES 8u
/** Reads elsewhere in the block of a sample. */
#define PLACES 3u
#define CHECKS TOUCH_AT_ONCE
/** With fewer blocks than this, measuring takes as long as reading. */
#define MIN_BLOCKS 64u
/** A first read must take this many times what a later one does, and at least this long. */
#define COLD_TIMES 4.0
#define COLD_AT_LEAST_MS 2.0
/** One sample may be an accident; of the checks one in sixteen. */
#define ALLOWED_SLOW_SAMPLES 1u
#define CHECKS_PER_ALLOWED_SLOW 16u

/** First reads of a few blocks; 0, or -1 when one fails. */
static int read_first(const struct touch_device *device, const uint64_t *blocks, double *first) {
    uint64_t offsets[SAMPLES];
    int failure = 0;
    for (unsigned i = 0; i < SAMPLES; i++) {
        offsets[i] = blocks[i] * BLOCK_BYTES;
    }
    device->read(device->context, offsets, SAMPLES, first);
    for (unsigned i = 0; i < SAMPLES; i++) {
        failure = first[i] < 0 ? -1 : failure;
    }
    return failure;
}

/** Measure the slowest of three reads elsewhere in each touched block. Returns 0, or -1 if one fails. */
static int read_rest(const struct touch_device *device, const uint64_t *blocks, double *rest) {
    static const uint64_t places[PLACES] = {BLOCK_BYTES / 4, BLOCK_BYTES - TOUCH_BYTES,
                                            BLOCK_BYTES / 2 + TOUCH_BYTES};
    int failure = 0;
    for (unsigned i = 0; i < SAMPLES; i++) {
        rest[i] = 0;
    }
    for (unsigned place = 0; place < PLACES; place++) {
        uint64_t offsets[SAMPLES];
        double ms[SAMPLES];
        for (unsigned i = 0; i < SAMPLES; i++) {
            offsets[i] = blocks[i] * BLOCK_BYTES + places[place];
        }
        device->read(device->context, offsets, SAMPLES, ms);
        for (unsigned i = 0; i < SAMPLES; i++) {
            failure = ms[i] < 0 ? -1 : failure;
            rest[i] = ms[i] > rest[i] ? ms[i] : rest[i];
        }
    }
    return failure;
}

static int by_size(const void *left, const void *right) {
    const double *a = left;
    const double *b = right;
    return (*a > *b) - (*a < *b);
}

static double median(const double *values, unsigned count) {
    double sorted[SAMPLES];
    for (unsigned i = 0; i < count; i++) {
        sorted[i] = values[i];
    }
    qsort(sorted, count, sizeof sorted[0], by_size);
    return sorted[count / 2];
}

/** A random block from part `index` of `parts` equal parts of the set, but never a partial block. */
static uint64_t choose(const struct touch_device *device, const struct block_set *set, struct random *random,
                       unsigned index, unsigned parts) {
    uint64_t share = block_set_count(set) / parts;
    uint64_t block = block_set_nth(set, index * share + random_below(random, share));
    bool is_partial = block_length(block, device->bytes) < BLOCK_BYTES;
    return is_partial ? block_set_nth(set, index * share) : block;
}

static void refuse(struct touch_result *result, const char *reason) {
    result->is_used = false;
    snprintf(result->note, sizeof result->note, "%s", reason);
}

/** What the samples say. */
static void judge(struct touch_result *result, const double *first, const double *rest) {
    unsigned slow = 0;
    unsigned cold = 0;
    result->first_ms = median(first, SAMPLES);
    result->rest_ms = median(rest, SAMPLES);
    for (unsigned i = 0; i < SAMPLES; i++) {
        slow += rest[i] >= result->first_ms / 2;
        cold += first[i] >= COLD_TIMES * result->rest_ms && first[i] >= COLD_AT_LEAST_MS;
    }
    result->is_used = true;
    if (slow > ALLOWED_SLOW_SAMPLES) {
        refuse(result, "a block stays slow after its first read");
    } else if (cold < SAMPLES - SAMPLES / 4) {
        refuse(result, "first reads are no slower than others: the blocks are warm");
    }
}

void touch_measure(const struct touch_device *device, const struct block_set *wanted,
                   struct touch_result *result) {
    double first[SAMPLES];
    double rest[SAMPLES];
    uint64_t blocks[SAMPLES];
    struct random random = {device->seed};
    *result = (struct touch_result){.was_asked = true};
    if (block_set_count(wanted) < MIN_BLOCKS) {
        refuse(result, "there are too few blocks to measure on");
        return;
    }
    for (unsigned i = 0; i < SAMPLES; i++) {
        blocks[i] = choose(device, wanted, &random, i, SAMPLES);
    }
    result->sample_bytes = SAMPLES * (1 + PLACES) * TOUCH_BYTES;
    if (read_first(device, blocks, first) != 0 || read_rest(device, blocks, rest) != 0) {
        refuse(result, "a sample could not be read");
        return;
    }
    result->samples = SAMPLES;
    judge(result, first, rest);
}

bool touch_verify(const struct touch_device *device, const struct block_set *touched,
                  struct touch_result *result) {
    struct random random = {device->seed + 1};
    uint64_t offsets[CHECKS];
    double ms[CHECKS];
    uint64_t count = block_set_count(touched);
    unsigned checks = count < CHECKS ? (unsigned)count : CHECKS;
    for (unsigned i = 0; i < checks; i++) {
        uint64_t block = choose(device, touched, &random, i, checks);
        uint64_t page = 1 + random_below(&random, BLOCK_BYTES / TOUCH_BYTES - 1);
        offsets[i] = block * BLOCK_BYTES + page * TOUCH_BYTES;
    }
    device->read(device->context, offsets, checks, ms);
    for (unsigned i = 0; i < checks; i++) {
        result->slow_checks += ms[i] < 0 || ms[i] >= result->first_ms / 2;
    }
    result->checks = checks;
    result->sample_bytes = (uint64_t)checks * TOUCH_BYTES;
    if (result->slow_checks > checks / CHECKS_PER_ALLOWED_SLOW) {
        result->fell_back = true;
        snprintf(result->note, sizeof result->note, "%u of %u touched blocks were slow afterwards",
                 result->slow_checks, checks);
    }
    return !result->fell_back;
}

void touch_put(struct json *json, const struct touch_result *result) {
    if (!result->was_asked) {
        json_null(json, "touch");
        return;
    }
    json_open(json, "touch", '{');
    json_bool(json, "used", result->is_used);
    json_bool(json, "fellBack", result->fell_back);
    json_unsigned(json, "samples", result->samples);
    json_number(json, "firstReadMs", result->first_ms);
    json_number(json, "restOfBlockMs", result->rest_ms);
    json_unsigned(json, "checks", result->checks);
    json_unsigned(json, "slowChecks", result->slow_checks);
    json_text(json, "note", result->note);
    json_close(json, '}');
}

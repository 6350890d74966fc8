/** `warmer verify`: what an application's first reads would meet, measured the way it would read. */
#include "base/block_set.h"
#include "base/json.h"
#include "base/latency.h"
#include "base/random.h"
#include "commands/commands.h"
#include "device/identity.h"
#include "plan/map.h"
#include "system/clock.h"
#include "system/interrupt.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SAMPLE_BYTES 4096u

/** The bounds of the histogram: 1/8 ms doubled up to 16 s. The last bin has no upper bound. */
#define HISTOGRAM_FIRST_MS 0.125
#define HISTOGRAM_BOUNDS 18u

struct check {
    const struct options *options;
    struct device *device;
    struct identity identity;
    struct block_set *blocks; /**< To sample from. */
    struct block_set *unused; /**< Not sampled yet in this round. */
    void *buffer;
    uint64_t *latency_ns; /**< Of the samples that were read, in order. */
    uint32_t taken;
    uint32_t errors;
    int first_error;
    bool was_interrupted;
    uint64_t seed;
    uint64_t elapsed_ns;
};

static int prepare(struct check *check, struct diag *diag) {
    int failure = device_open(check->options->device, &check->device, diag);
    if (failure != 0) {
        return failure;
    }
    identity_find(check->options->device, check->device, &check->identity);
    failure = identity_confirm(&check->identity, check->options->device, check->options->volume, diag);
    if (failure != 0) {
        return failure;
    }
    uint64_t blocks = blocks_of_bytes(device_bytes(check->device));
    check->blocks = block_set_create(blocks);
    check->buffer = device_alloc_buffer(SAMPLE_BYTES);
    check->latency_ns = calloc(check->options->samples, sizeof *check->latency_ns);
    if (check->blocks == NULL || check->buffer == NULL || check->latency_ns == NULL) {
        return diag_refuse(diag, WARMER_CANNOT_OPEN, "out of memory");
    }
    if (check->options->map_path == NULL) {
        failure = block_set_add(check->blocks, 0, blocks);
        failure = failure == 0 ? 0 : diag_refuse(diag, WARMER_CANNOT_OPEN, "out of memory");
    } else {
        failure = map_load(check->options->map_path, check->blocks, diag);
    }
    if (failure == 0 && block_set_count(check->blocks) == 0) {
        return diag_refuse(diag, WARMER_USAGE, "%s holds no blocks: there is nothing to verify",
                           check->options->map_path);
    }
    return failure;
}

/** A block not sampled before; when all have been, they are all new again. */
static uint64_t choose_block(struct check *check, struct random *random) {
    if (check->unused == NULL || block_set_count(check->unused) == 0) {
        block_set_destroy(check->unused);
        check->unused = block_set_copy(check->blocks);
        if (check->unused == NULL) {
            return BLOCK_NONE;
        }
    }
    uint64_t rank = random_below(random, block_set_count(check->unused));
    uint64_t block = block_set_nth(check->unused, rank);
    return block_set_remove(check->unused, block, 1) == 0 ? block : BLOCK_NONE;
}

/** A 4 KiB piece of the block, chosen evenly. */
static uint64_t choose_offset(const struct check *check, uint64_t block, struct random *random) {
    uint32_t length = block_length(block, device_bytes(check->device));
    uint64_t pieces = length / SAMPLE_BYTES;
    return block * BLOCK_BYTES + (pieces == 0 ? 0 : random_below(random, pieces) * SAMPLE_BYTES);
}

static void sample(struct check *check, uint64_t offset) {
    uint64_t began_ns = clock_now_ns();
    int64_t got = device_read(check->device, check->buffer, SAMPLE_BYTES, offset);
    uint64_t took_ns = clock_now_ns() - began_ns;
    if (got > 0) {
        check->latency_ns[check->taken++] = took_ns;
        return;
    }
    check->errors++;
    if (check->first_error == 0) {
        check->first_error = got < 0 ? (int)-got : ENXIO;
    }
}

static int run(struct check *check, struct diag *diag) {
    uint64_t began_ns = clock_now_ns();
    check->seed = check->options->has_seed ? check->options->seed : began_ns;
    struct random random = {check->seed};
    interrupt_catch();
    for (uint32_t i = 0; i < check->options->samples && !check->was_interrupted; i++) {
        uint64_t block = choose_block(check, &random);
        if (block == BLOCK_NONE) {
            return diag_refuse(diag, WARMER_CANNOT_OPEN, "out of memory");
        }
        sample(check, choose_offset(check, block, &random));
        check->was_interrupted = interrupt_requested() && i + 1 < check->options->samples;
    }
    check->elapsed_ns = clock_now_ns() - began_ns;
    return 0;
}

/** Samples are sorted: how many are at most `bound_ms`? */
static uint32_t count_up_to(const struct check *check, double bound_ms) {
    uint32_t count = 0;
    while (count < check->taken && (double)check->latency_ns[count] / 1e6 <= bound_ms) {
        count++;
    }
    return count;
}

static void put_histogram(struct json *json, const struct check *check) {
    double bound_ms = HISTOGRAM_FIRST_MS;
    uint32_t below = 0;
    json_open(json, "histogram", '[');
    for (unsigned i = 0; i <= HISTOGRAM_BOUNDS; i++, bound_ms *= 2) {
        bool is_last = i == HISTOGRAM_BOUNDS;
        uint32_t up_to = is_last ? check->taken : count_up_to(check, bound_ms);
        if (up_to > below) {
            json_open(json, NULL, '{');
            json_number(json, "upToMs", is_last ? (double)INFINITY : bound_ms);
            json_unsigned(json, "count", up_to - below);
            json_close(json, '}');
        }
        below = up_to;
    }
    json_close(json, ']');
}

static const char *verdict(const struct check *check, const struct latency_summary *latency) {
    if (check->was_interrupted) {
        return "interrupted";
    }
    if (check->errors > 0) {
        return "unreadable";
    }
    return latency->p99_ms <= check->options->max_p99_ms ? "fast" : "slow";
}

static void report(const struct check *check, const struct latency_summary *latency) {
    struct json json = {.stream = stdout};
    json_open(&json, NULL, '{');
    json_text(&json, "event", "result");
    json_text(&json, "command", "verify");
    json_text(&json, "verdict", verdict(check, latency));
    json_text(&json, "device", check->options->device);
    json_text_or_null(&json, "volumeId", check->identity.volume_id);
    json_unsigned(&json, "samples", check->taken + check->errors);
    json_number(&json, "iops", latency->mean_ms > 0 ? 1000 / latency->mean_ms : 0);
    progress_put_latency(&json, "latencyMs", latency);
    put_histogram(&json, check);
    json_number(&json, "maxP99Ms", check->options->max_p99_ms);
    json_unsigned(&json, "errors", check->errors);
    json_text_or_null(&json, "error", check->first_error == 0 ? "" : strerror(check->first_error));
    json_number(&json, "elapsedSeconds", (double)check->elapsed_ns / (double)NS_PER_SECOND);
    json_unsigned(&json, "seed", check->seed);
    json_bool(&json, "directIo", device_is_direct(check->device));
    json_text(&json, "deviceNote", device_note(check->device));
    json_close(&json, '}');
    json_end_line(&json);
}

static int exit_status(const struct check *check, const struct latency_summary *latency) {
    if (check->was_interrupted) {
        return WARMER_INTERRUPTED;
    }
    bool is_fast = check->errors == 0 && latency->p99_ms <= check->options->max_p99_ms;
    return is_fast ? WARMER_OK : WARMER_UNREADABLE;
}

int command_verify(const struct options *options, struct diag *diag) {
    struct check check = {.options = options};
    int status = prepare(&check, diag);
    if (status == 0) {
        status = run(&check, diag);
    }
    if (status == 0) {
        struct latency_summary latency = latency_of_samples(check.latency_ns, check.taken);
        report(&check, &latency);
        status = exit_status(&check, &latency);
    }
    block_set_destroy(check.blocks);
    block_set_destroy(check.unused);
    device_free_buffer(check.buffer);
    free(check.latency_ns);
    device_close(check.device);
    return status;
}

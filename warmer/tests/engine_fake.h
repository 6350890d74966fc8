#ifndef WARMER_ENGINE_FAKE_H
#define WARMER_ENGINE_FAKE_H

#include "base/block_set.h"
#include "base/random.h"
#include "engines/engine.h"

#include <stdbool.h>
#include <stdint.h>

#define FAKE_MAX_BLOCKS 65536u

/** What the scripted device answers to one read. */
struct fake_reply {
    int32_t result;
    uint64_t latency_ns;
};

/** Decides the answer; `nth` counts the reads of this block from 0. */
typedef struct fake_reply fake_script(const struct engine_read *read, unsigned nth);

/** An engine without a device, with time of its own: time passes in reap and fake_pass. */
struct fake_engine {
    struct engine base;
    fake_script *script;
    int submit_failure; /**< -errno that the next `submit_failures` submits answer. */
    unsigned submit_failures;
    int reap_failure; /**< -errno that reap answers once `reap_failure_after` reads are done. */
    uint64_t reap_failure_after;
    unsigned in_flight, max_in_flight;
    uint64_t submitted, completed;
    struct {
        struct engine_completion completion;
        uint64_t due_ns;
    } pending[2048];
    uint16_t reads_of_block[FAKE_MAX_BLOCKS];
    uint32_t bytes_of_block[FAKE_MAX_BLOCKS]; /**< Answered with data. */
    uint64_t order[FAKE_MAX_BLOCKS];          /**< Offsets in the order of submission. */
    uint32_t lengths[FAKE_MAX_BLOCKS];        /**< In the same order, as the next. */
    uint64_t at_ns[FAKE_MAX_BLOCKS];
    bool is_write[FAKE_MAX_BLOCKS];
    uint64_t most_late_ns; /**< Up to so much later than due reap comes back: a busy machine. */
    struct random lateness;
};

/** Begin: no reads, time zero. */
void fake_reset(struct fake_engine *fake, fake_script *script);

/** The fake's time; every test uses one fake at a time. */
uint64_t fake_now_ns(void);

/** Let time pass outside of reap. */
void fake_pass(uint64_t passed_ns);

#endif

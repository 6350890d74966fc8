#ifndef WARMER_WARM_TRIAL_H
#define WARMER_WARM_TRIAL_H

/** A warm-up of a scripted device in virtual time, for the tests of the loop. */
#include "base/random.h"
#include "check.h"
#include "engine_fake.h"
#include "loop/warm.h"
#include "system/clock.h"

#define BLOCKS 500u
#define MS NS_PER_MILLISECOND
#define MIB 1048576.0

static struct fake_engine fake;
static uint64_t interrupt_at_ns;
static struct block_set *remembered;

static bool is_interrupted(void) {
    return fake_now_ns() >= interrupt_at_ns;
}

static inline void remember(void *context, uint64_t block) {
    (void)context;
    CHECK(!block_set_contains(remembered, block));
    block_set_add(remembered, block, 1);
}

/** One warm-up of the fake device. */
struct trial {
    uint64_t blocks;
    uint64_t device_bytes;
    unsigned depth;
    double max_mib_s;
    uint64_t bytes_before;
    warm_observe *observe;
    double polite_latency_ms;
    warm_find_gone *find_gone;
    warm_put_first *put_first;
    struct warm_result result;
};

static inline struct trial make_trial(fake_script *script) {
    fake_reset(&fake, script);
    interrupt_at_ns = UINT64_MAX;
    return (struct trial){.blocks = BLOCKS, .device_bytes = BLOCKS * (uint64_t)BLOCK_BYTES, .depth = 32};
}

static inline void run_trial(struct trial *trial) {
    struct block_set *wanted = block_set_create(trial->blocks);
    block_set_add(wanted, 0, trial->blocks);
    remembered = block_set_create(trial->blocks);
    struct plan *plan = plan_create(wanted);
    struct warm_settings settings = {
        .engine = &fake.base,
        .plan = plan,
        .device_bytes = trial->device_bytes,
        .alignment_bytes = 4096,
        .max_in_flight = trial->depth > 0 ? trial->depth : DEPTH_AUTO_LIMIT,
        .fixed_depth = trial->depth,
        .max_mib_s = trial->max_mib_s,
        .bytes_before = trial->bytes_before,
        .now_ns = fake_now_ns,
        .is_interrupted = is_interrupted,
        .polite_latency_ms = trial->polite_latency_ms,
        .find_gone = trial->find_gone,
        .put_first = trial->put_first,
        .remember = remember,
        .observe = trial->observe,
    };
    trial->result.progress.blocks_total = trial->blocks;
    trial->result.progress.bytes_total = block_set_bytes(wanted, trial->device_bytes);
    CHECK_EQ(warm_run(&settings, &trial->result), 0);
    CHECK_EQ(block_set_count(remembered), trial->result.progress.blocks_done);
    plan_destroy(plan);
    block_set_destroy(wanted);
}

static inline void end_trial(struct trial *trial) {
    extents_clear(&trial->result.failed);
    block_set_destroy(remembered);
}

/** All is read, each block by exactly the bytes it has. */
static inline void expect_complete(struct trial *trial) {
    const struct warm_progress *progress = &trial->result.progress;
    CHECK_EQ(progress->blocks_done, trial->blocks);
    CHECK_EQ(progress->bytes_done, progress->bytes_total);
    CHECK_EQ(progress->blocks_failed, 0);
    CHECK(!trial->result.was_interrupted);
    CHECK_EQ(fake.in_flight, 0);
}

static inline struct fake_reply whole(const struct engine_read *read, unsigned nth) {
    (void)nth;
    return (struct fake_reply){(int32_t)read->length_bytes, 5 * MS};
}

/** Latencies between 1 and 100 ms by block: completions come in any order. */
static inline struct fake_reply shuffled(const struct engine_read *read, unsigned nth) {
    (void)nth;
    struct random random = {read->offset_bytes};
    return (struct fake_reply){(int32_t)read->length_bytes, (1 + random_below(&random, 100)) * MS};
}

#endif

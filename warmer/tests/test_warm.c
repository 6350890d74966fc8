/** The loop against scripted devices: everything a device may answer, in virtual time. */
#include "check.h"
#include "clock.h"
#include "engine_fake.h"
#include "pace.h"
#include "random.h"
#include "warm.h"

#include <errno.h>
#include <stdlib.h>

#define BLOCKS 500u
#define MS NS_PER_MILLISECOND
#define MIB 1048576.0

static struct fake_engine fake;
static uint64_t interrupt_at_ns;
static struct block_set *remembered;

static bool is_interrupted(void) {
    return fake_now_ns() >= interrupt_at_ns;
}

static void remember(void *context, uint64_t block) {
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
    warm_observe *observe;
    struct warm_result result;
};

static struct trial make_trial(fake_script *script) {
    fake_reset(&fake, script);
    interrupt_at_ns = UINT64_MAX;
    return (struct trial){.blocks = BLOCKS, .device_bytes = BLOCKS * (uint64_t)BLOCK_BYTES, .depth = 32};
}

static void run_trial(struct trial *trial) {
    struct block_set *wanted = block_set_create(trial->blocks);
    block_set_add(wanted, 0, trial->blocks);
    remembered = block_set_create(trial->blocks);
    struct plan *plan = plan_create(wanted, NULL);
    struct warm_settings settings = {
        .engine = &fake.base,
        .plan = plan,
        .device_bytes = trial->device_bytes,
        .alignment_bytes = 4096,
        .max_in_flight = trial->depth > 0 ? trial->depth : DEPTH_AUTO_LIMIT,
        .fixed_depth = trial->depth,
        .max_mib_s = trial->max_mib_s,
        .now_ns = fake_now_ns,
        .is_interrupted = is_interrupted,
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

static void end_trial(struct trial *trial) {
    extents_clear(&trial->result.failed);
    block_set_destroy(remembered);
}

/** All is read, each block by exactly the bytes it has. */
static void expect_complete(struct trial *trial) {
    const struct warm_progress *progress = &trial->result.progress;
    CHECK_EQ(progress->blocks_done, trial->blocks);
    CHECK_EQ(progress->bytes_done, progress->bytes_total);
    CHECK_EQ(progress->blocks_failed, 0);
    CHECK(!trial->result.was_interrupted);
    CHECK_EQ(fake.in_flight, 0);
}

static struct fake_reply whole(const struct engine_read *read, unsigned nth) {
    (void)nth;
    return (struct fake_reply){(int32_t)read->length_bytes, 5 * MS};
}

static void reads_each_block_exactly_once(void) {
    struct trial trial = make_trial(whole);
    run_trial(&trial);
    expect_complete(&trial);
    CHECK_EQ(fake.submitted, BLOCKS);
    CHECK_EQ(fake.max_in_flight, 32);
    CHECK_EQ(trial.result.progress.bytes_read, BLOCKS * (uint64_t)BLOCK_BYTES);
    for (unsigned block = 0; block < BLOCKS; block++) {
        CHECK_EQ(fake.reads_of_block[block], 1);
        CHECK_EQ(fake.bytes_of_block[block], BLOCK_BYTES);
    }
    end_trial(&trial);
}

/** Latencies between 1 and 100 ms by block: completions come in any order. */
static struct fake_reply shuffled(const struct engine_read *read, unsigned nth) {
    (void)nth;
    struct random random = {read->offset_bytes};
    return (struct fake_reply){(int32_t)read->length_bytes, (1 + random_below(&random, 100)) * MS};
}

static void completions_out_of_order_are_accounted(void) {
    struct trial trial = make_trial(shuffled);
    run_trial(&trial);
    expect_complete(&trial);
    CHECK_EQ(fake.submitted, BLOCKS);
    end_trial(&trial);
}

static struct fake_reply one_is_slow(const struct engine_read *read, unsigned nth) {
    (void)nth;
    uint64_t latency_ns = read->offset_bytes == 3 * (uint64_t)BLOCK_BYTES ? 10 * NS_PER_SECOND : 10 * MS;
    return (struct fake_reply){(int32_t)read->length_bytes, latency_ns};
}

static void a_slow_block_holds_no_other_back(void) {
    struct trial trial = make_trial(one_is_slow);
    trial.depth = 2;
    run_trial(&trial);
    expect_complete(&trial);
    /* One slot reads the other 499 blocks in 5 s while the slow one takes its 10. */
    CHECK_BETWEEN(fake_now_ns(), 10 * NS_PER_SECOND, 10 * NS_PER_SECOND + 60 * MS);
    end_trial(&trial);
}

/** Answers in thirds, not multiples of the alignment. */
static struct fake_reply in_parts(const struct engine_read *read, unsigned nth) {
    (void)nth;
    uint32_t part = read->length_bytes > 200000 ? 200000 : read->length_bytes;
    return (struct fake_reply){(int32_t)part, MS};
}

static void short_reads_are_continued_at_the_alignment(void) {
    struct trial trial = make_trial(in_parts);
    run_trial(&trial);
    expect_complete(&trial);
    CHECK_EQ(fake.submitted, 3 * BLOCKS);
    CHECK_EQ(trial.result.progress.short_reads, 2 * BLOCKS);
    for (unsigned i = 0; i < 3 * BLOCKS; i++) {
        CHECK_EQ(fake.order[i] % 4096, 0);
    }
    end_trial(&trial);
}

static struct fake_reply less_than_alignment(const struct engine_read *read, unsigned nth) {
    return (struct fake_reply){nth < 2 ? 100 : (int32_t)read->length_bytes, MS};
}

static void a_read_of_less_than_the_alignment_is_repeated(void) {
    struct trial trial = make_trial(less_than_alignment);
    run_trial(&trial);
    expect_complete(&trial);
    CHECK_EQ(trial.result.progress.retries, 2 * BLOCKS);
    end_trial(&trial);
}

static struct fake_reply busy_twice(const struct engine_read *read, unsigned nth) {
    static const int errors[] = {-EAGAIN, -EINTR};
    return (struct fake_reply){nth < 2 ? errors[nth] : (int32_t)read->length_bytes, MS};
}

static void passing_errors_are_retried(void) {
    struct trial trial = make_trial(busy_twice);
    run_trial(&trial);
    expect_complete(&trial);
    CHECK_EQ(trial.result.progress.retries, 2 * BLOCKS);
    CHECK_EQ(fake.submitted, 3 * BLOCKS);
    end_trial(&trial);
}

static struct fake_reply busy_for_ever(const struct engine_read *read, unsigned nth) {
    (void)nth;
    bool is_busy = read->offset_bytes == 7 * (uint64_t)BLOCK_BYTES;
    return (struct fake_reply){is_busy ? -EAGAIN : (int32_t)read->length_bytes, MS};
}

static void a_passing_error_that_stays_is_a_failure_in_the_end(void) {
    struct trial trial = make_trial(busy_for_ever);
    run_trial(&trial);
    CHECK_EQ(trial.result.progress.blocks_done, BLOCKS - 1);
    CHECK_EQ(trial.result.progress.blocks_failed, 1);
    CHECK_EQ(trial.result.first_error, EAGAIN);
    CHECK_EQ(trial.result.failed.items[0].start, 7);
    /* Ten retries, 1 ms doubled each time up to a second. */
    CHECK_EQ(fake.reads_of_block[7], 11);
    CHECK_BETWEEN(fake_now_ns(), 1000 * MS, 3000 * MS);
    end_trial(&trial);
}

static struct fake_reply some_are_broken(const struct engine_read *read, unsigned nth) {
    (void)nth;
    uint64_t block = read->offset_bytes / BLOCK_BYTES;
    bool is_broken = (block >= 100 && block < 103) || block == 499;
    return (struct fake_reply){is_broken ? -EIO : (int32_t)read->length_bytes, (1 + block * 7 % 13) * MS};
}

static void unreadable_blocks_are_listed_and_passed_over(void) {
    struct trial trial = make_trial(some_are_broken);
    run_trial(&trial);
    const struct warm_result *result = &trial.result;
    CHECK_EQ(result->progress.blocks_done, BLOCKS - 4);
    CHECK_EQ(result->progress.blocks_failed, 4);
    CHECK_EQ(result->first_error, EIO);
    CHECK_EQ(result->failed.length, 2);
    CHECK_EQ(result->failed.items[0].start, 100);
    CHECK_EQ(result->failed.items[0].count, 3);
    CHECK_EQ(result->failed.items[1].start, 499);
    CHECK_EQ(fake.submitted, BLOCKS);
    CHECK(!result->was_interrupted);
    end_trial(&trial);
}

static struct fake_reply ends_early(const struct engine_read *read, unsigned nth) {
    (void)nth;
    bool is_beyond = read->offset_bytes >= 490 * (uint64_t)BLOCK_BYTES;
    return (struct fake_reply){is_beyond ? 0 : (int32_t)read->length_bytes, MS};
}

static void a_device_that_shrank_is_noticed(void) {
    struct trial trial = make_trial(ends_early);
    run_trial(&trial);
    CHECK_EQ(trial.result.progress.blocks_failed, 10);
    CHECK_EQ(trial.result.first_error, ENXIO);
    CHECK_EQ(trial.result.failed.items[0].count, 10);
    end_trial(&trial);
}

static struct fake_reply partial_last(const struct engine_read *read, unsigned nth) {
    (void)nth;
    uint64_t rest = (BLOCKS - 1) * (uint64_t)BLOCK_BYTES + 5000 - read->offset_bytes;
    uint32_t bytes = rest < read->length_bytes ? (uint32_t)rest : read->length_bytes;
    return (struct fake_reply){(int32_t)bytes, MS};
}

static void a_partial_last_block_is_read_to_the_end_of_the_device(void) {
    struct trial trial = make_trial(partial_last);
    trial.device_bytes = (BLOCKS - 1) * (uint64_t)BLOCK_BYTES + 5000;
    run_trial(&trial);
    expect_complete(&trial);
    CHECK_EQ(trial.result.progress.bytes_done, trial.device_bytes);
    CHECK_EQ(fake.bytes_of_block[BLOCKS - 1], 5000);
    CHECK_EQ(fake.submitted, BLOCKS);
    end_trial(&trial);
}

static void an_interruption_drains_what_is_in_flight(void) {
    struct trial trial = make_trial(whole);
    interrupt_at_ns = 17 * MS;
    run_trial(&trial);
    const struct warm_progress *progress = &trial.result.progress;
    CHECK(trial.result.was_interrupted);
    CHECK_EQ(fake.in_flight, 0);
    CHECK_EQ(progress->blocks_done, fake.submitted);
    CHECK_BETWEEN(progress->blocks_done, 96, 160);
    CHECK_EQ(progress->blocks_failed, 0);
    end_trial(&trial);
}

static void an_interruption_after_the_last_block_changes_nothing(void) {
    struct trial trial = make_trial(whole);
    trial.blocks = 32;
    trial.device_bytes = 32 * (uint64_t)BLOCK_BYTES;
    interrupt_at_ns = 1 * MS;
    run_trial(&trial);
    expect_complete(&trial);
    end_trial(&trial);
}

static void an_interrupted_retry_is_left_unread(void) {
    struct trial trial = make_trial(busy_for_ever);
    interrupt_at_ns = 400 * MS;
    run_trial(&trial);
    CHECK(trial.result.was_interrupted);
    CHECK_EQ(trial.result.progress.blocks_done, BLOCKS - 1);
    CHECK_EQ(trial.result.progress.blocks_failed, 0);
    end_trial(&trial);
}

static void a_full_submission_queue_is_tried_again(void) {
    struct trial trial = make_trial(whole);
    fake.submit_failure = -EBUSY;
    fake.submit_failures = 40;
    run_trial(&trial);
    expect_complete(&trial);
    CHECK_EQ(trial.result.progress.retries, 40);
    end_trial(&trial);
}

static void an_engine_that_gives_up_is_reported(void) {
    struct trial trial = make_trial(whole);
    fake.reap_failure = -EBADF;
    fake.reap_failure_after = 64;
    run_trial(&trial);
    CHECK_EQ(trial.result.engine_error, EBADF);
    CHECK_EQ(trial.result.progress.blocks_done, 64);
    CHECK(!trial.result.was_interrupted);
    end_trial(&trial);
}

static struct fake_reply warm_already(const struct engine_read *read, unsigned nth) {
    (void)nth;
    return (struct fake_reply){(int32_t)read->length_bytes, 6 * MS};
}

static struct trial make_long_trial(fake_script *script) {
    struct trial trial = make_trial(script);
    trial.blocks = 30001;
    trial.device_bytes = 30000 * (uint64_t)BLOCK_BYTES + 5000;
    trial.depth = 0;
    return trial;
}

static void warm_blocks_are_read_in_larger_pieces(void) {
    struct trial trial = make_long_trial(warm_already);
    run_trial(&trial);
    expect_complete(&trial);
    CHECK_BETWEEN(trial.result.progress.reads, 15000, 25000);
    CHECK_EQ(trial.result.progress.retries, 0);
    end_trial(&trial);
}

static void cold_blocks_are_read_one_by_one(void) {
    struct trial trial = make_long_trial(shuffled);
    run_trial(&trial);
    expect_complete(&trial);
    CHECK_EQ(trial.result.progress.reads, trial.blocks);
    end_trial(&trial);
}

/** One block is broken, and with it every read that takes it in. */
static struct fake_reply warm_but_broken(const struct engine_read *read, unsigned nth) {
    (void)nth;
    uint64_t broken = 25000 * (uint64_t)BLOCK_BYTES;
    bool is_broken = read->offset_bytes <= broken && broken < read->offset_bytes + read->length_bytes;
    return (struct fake_reply){is_broken ? -EIO : (int32_t)read->length_bytes, 6 * MS};
}

static void a_broken_block_in_a_larger_piece_fails_alone(void) {
    struct trial trial = make_long_trial(warm_but_broken);
    run_trial(&trial);
    CHECK_EQ(trial.result.progress.blocks_done, trial.blocks - 1);
    CHECK_EQ(trial.result.failed.length, 1);
    CHECK_EQ(trial.result.failed.items[0].start, 25000);
    CHECK_EQ(trial.result.failed.items[0].count, 1);
    CHECK_EQ(trial.result.progress.bytes_done, trial.device_bytes - BLOCK_BYTES);
    end_trial(&trial);
}

/** Answers with 700,000 of a mebibyte: a whole block and a part of the next. */
static struct fake_reply warm_in_parts(const struct engine_read *read, unsigned nth) {
    (void)nth;
    uint32_t part = read->length_bytes > 700000 ? 700000 : read->length_bytes;
    return (struct fake_reply){(int32_t)part, 6 * MS};
}

static void a_short_larger_piece_is_continued_where_it_ended(void) {
    struct trial trial = make_long_trial(warm_in_parts);
    run_trial(&trial);
    expect_complete(&trial);
    CHECK(trial.result.progress.short_reads > 1000);
    end_trial(&trial);
}

/** Bytes done at the end of each second of a paced run. */
static uint64_t bytes_at_second[64];

static void note_seconds(void *context, const struct warm_progress *progress) {
    (void)context;
    uint64_t second = progress->elapsed_ns / NS_PER_SECOND;
    if (second < 63) {
        bytes_at_second[second + 1] = progress->bytes_done;
    }
}

static void the_rate_limit_holds_over_any_five_seconds(void) {
    struct trial trial = make_trial(shuffled);
    trial.max_mib_s = 20;
    trial.observe = note_seconds;
    run_trial(&trial);
    expect_complete(&trial);
    CHECK_BETWEEN(fake_now_ns(), 12.4e9, 12.7e9);
    for (unsigned second = 1; second + 5 <= 12; second++) {
        double mib_s = (double)(bytes_at_second[second + 5] - bytes_at_second[second]) / MIB / 5;
        CHECK_BETWEEN(mib_s, 20 * 0.98, 20 * 1.02);
    }
    end_trial(&trial);
}

int main(void) {
    RUN(reads_each_block_exactly_once);
    RUN(completions_out_of_order_are_accounted);
    RUN(a_slow_block_holds_no_other_back);
    RUN(short_reads_are_continued_at_the_alignment);
    RUN(a_read_of_less_than_the_alignment_is_repeated);
    RUN(passing_errors_are_retried);
    RUN(a_passing_error_that_stays_is_a_failure_in_the_end);
    RUN(unreadable_blocks_are_listed_and_passed_over);
    RUN(a_device_that_shrank_is_noticed);
    RUN(a_partial_last_block_is_read_to_the_end_of_the_device);
    RUN(an_interruption_drains_what_is_in_flight);
    RUN(an_interruption_after_the_last_block_changes_nothing);
    RUN(an_interrupted_retry_is_left_unread);
    RUN(a_full_submission_queue_is_tried_again);
    RUN(an_engine_that_gives_up_is_reported);
    RUN(warm_blocks_are_read_in_larger_pieces);
    RUN(cold_blocks_are_read_one_by_one);
    RUN(a_broken_block_in_a_larger_piece_fails_alone);
    RUN(a_short_larger_piece_is_continued_where_it_ended);
    RUN(the_rate_limit_holds_over_any_five_seconds);
    return CHECK_RESULT();
}

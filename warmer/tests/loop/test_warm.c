/** The loop against scripted devices: what is read, and how, in virtual time. */
#include "warm_trial.h"

#include <errno.h>

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

/** Blocks 300 to 309 come first; that is known at `known_at_ns`. */
static uint64_t known_at_ns;
static unsigned times_told;

static enum warm_first put_first(void *context, struct plan *plan, uint64_t *bytes) {
    (void)context;
    struct extents list = {0};
    if (fake_now_ns() < known_at_ns) {
        return WARM_FIRST_UNKNOWN;
    }
    extents_append(&list, 300, 10);
    CHECK_EQ(plan_put_first(plan, &list), 0);
    extents_clear(&list);
    *bytes = 10 * (uint64_t)BLOCK_BYTES;
    times_told++;
    return WARM_FIRST_ALL;
}

/** Blocks 300 to 304 are known from the beginning, 400 to 404 later. */
static enum warm_first put_in_two_parts(void *context, struct plan *plan, uint64_t *bytes) {
    (void)context;
    struct extents list = {0};
    bool is_all = fake_now_ns() >= known_at_ns;
    if (times_told > 0 && !is_all) {
        return WARM_FIRST_SOME;
    }
    if (times_told == 0) {
        extents_append(&list, 300, 5);
    }
    if (is_all) {
        extents_append(&list, 400, 5);
    }
    CHECK_EQ(plan_put_first(plan, &list), 0);
    extents_clear(&list);
    *bytes = 5 * (uint64_t)BLOCK_BYTES;
    times_told++;
    return is_all ? WARM_FIRST_ALL : WARM_FIRST_SOME;
}

static struct trial make_first_trial(uint64_t at_ns) {
    struct trial trial = make_trial(whole);
    trial.put_first = put_first;
    trial.depth = 1;
    known_at_ns = at_ns;
    times_told = 0;
    return trial;
}

/** Reads 10 from the `nth` on are of the blocks that come first. */
static void expect_first_at(unsigned nth) {
    CHECK_EQ(times_told, 1);
    for (unsigned i = 0; i < 10; i++) {
        CHECK_EQ(fake.order[nth + i], (300 + i) * (uint64_t)BLOCK_BYTES);
    }
}

static void what_comes_first_is_waited_for_a_little(void) {
    struct trial trial = make_first_trial(3 * MS / 2);
    run_trial(&trial);
    expect_complete(&trial);
    expect_first_at(0);
    CHECK_BETWEEN(fake_now_ns(), BLOCKS * 5 * MS + MS, BLOCKS * 5 * MS + 2 * MS);
    end_trial(&trial);
}

static void what_is_known_later_comes_next(void) {
    struct trial trial = make_first_trial(30 * MS);
    run_trial(&trial);
    expect_complete(&trial);
    /* Six reads of 5 ms each after the first 2 ms. */
    expect_first_at(6);
    CHECK_EQ(fake.submitted, BLOCKS);
    end_trial(&trial);
}

static void what_comes_first_may_be_known_in_two_parts(void) {
    struct trial trial = make_first_trial(42 * MS);
    trial.put_first = put_in_two_parts;
    run_trial(&trial);
    expect_complete(&trial);
    CHECK_EQ(times_told, 2);
    for (unsigned i = 0; i < 5; i++) {
        CHECK_EQ(fake.order[i], (300 + i) * (uint64_t)BLOCK_BYTES);
        /* Four of the rest at 5 ms each come between. */
        CHECK_EQ(fake.order[9 + i], (400 + i) * (uint64_t)BLOCK_BYTES);
    }
    CHECK_EQ(fake.order[5], 0);
    end_trial(&trial);
    trial = make_first_trial(42 * MS);
    trial.put_first = put_in_two_parts;
    trial.max_mib_s = 50;
    run_trial(&trial);
    expect_complete(&trial);
    /* With a limit it is waited for all of them, and what was read for both counts. */
    CHECK_EQ(times_told, 2);
    CHECK_EQ(fake.order[0], 300 * (uint64_t)BLOCK_BYTES);
    CHECK_EQ(fake.order[5], 400 * (uint64_t)BLOCK_BYTES);
    CHECK_BETWEEN(fake_now_ns(), 5050 * MS, 5200 * MS);
    end_trial(&trial);
}

static void a_modest_warm_up_waits_for_it(void) {
    struct trial trial = make_first_trial(300 * MS);
    trial.max_mib_s = 50;
    run_trial(&trial);
    expect_complete(&trial);
    expect_first_at(0);
    /* The 5 MiB that were read to know it count: 250 MiB take 5 s, these a tenth of one more. */
    CHECK_BETWEEN(fake_now_ns(), 5310 * MS, 5450 * MS);
    end_trial(&trial);
    trial = make_first_trial(300 * MS);
    trial.polite_latency_ms = 20;
    run_trial(&trial);
    expect_complete(&trial);
    /* After the first block come probes of it, too. */
    CHECK_EQ(times_told, 1);
    CHECK_EQ(fake.order[0], 300 * (uint64_t)BLOCK_BYTES);
    end_trial(&trial);
}

int main(void) {
    RUN(reads_each_block_exactly_once);
    RUN(completions_out_of_order_are_accounted);
    RUN(a_slow_block_holds_no_other_back);
    RUN(short_reads_are_continued_at_the_alignment);
    RUN(a_read_of_less_than_the_alignment_is_repeated);
    RUN(a_partial_last_block_is_read_to_the_end_of_the_device);
    RUN(warm_blocks_are_read_in_larger_pieces);
    RUN(cold_blocks_are_read_one_by_one);
    RUN(a_broken_block_in_a_larger_piece_fails_alone);
    RUN(a_short_larger_piece_is_continued_where_it_ended);
    RUN(what_comes_first_is_waited_for_a_little);
    RUN(what_is_known_later_comes_next);
    RUN(what_comes_first_may_be_known_in_two_parts);
    RUN(a_modest_warm_up_waits_for_it);
    return CHECK_RESULT();
}

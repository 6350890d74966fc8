/** The loop against scripted devices that fail, and its interruption, in virtual time. */
#include "warm_trial.h"

#include <errno.h>

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

/** The device goes away after 200 blocks: reads in flight fail one after the other, and so would all later
 * ones. */
#define LAST_BLOCK 200u

static unsigned asked;
static int first_asked_error;

static struct fake_reply vanishes(const struct engine_read *read, unsigned nth) {
    (void)nth;
    struct random random = {read->offset_bytes};
    bool is_gone = read->offset_bytes / BLOCK_BYTES >= LAST_BLOCK;
    int32_t result = is_gone ? -ENODEV : (int32_t)read->length_bytes;
    return (struct fake_reply){result, (1 + random_below(&random, 10)) * MS};
}

static const char *find_gone(void *context, int error) {
    (void)context;
    first_asked_error = asked == 0 ? error : first_asked_error;
    asked++;
    return "it was unplugged";
}

/** Reads in flight come back, nothing more is begun, and what is left is merely not read. */
static void expect_gone(const struct trial *trial, int error) {
    const struct warm_result *result = &trial->result;
    CHECK(result->gone != NULL && strcmp(result->gone, "it was unplugged") == 0);
    CHECK_EQ(asked, 1);
    CHECK_EQ(first_asked_error, error);
    CHECK_EQ(result->progress.blocks_failed, 0);
    CHECK_EQ(result->failed.length, 0);
    CHECK_EQ(result->first_error, 0);
    CHECK(!result->was_interrupted);
    CHECK_EQ(fake.in_flight, 0);
}

static struct trial make_gone_trial(fake_script *script) {
    struct trial trial = make_trial(script);
    trial.find_gone = find_gone;
    asked = 0;
    return trial;
}

static void a_device_that_disappears_ends_the_run(void) {
    struct trial trial = make_gone_trial(vanishes);
    run_trial(&trial);
    expect_gone(&trial, ENODEV);
    CHECK_EQ(trial.result.progress.blocks_done, LAST_BLOCK);
    CHECK_BETWEEN(fake.submitted, LAST_BLOCK + 1, LAST_BLOCK + 32);
    end_trial(&trial);
}

static struct fake_reply gets_shorter(const struct engine_read *read, unsigned nth) {
    struct fake_reply reply = vanishes(read, nth);
    reply.result = reply.result < 0 ? 0 : reply.result;
    return reply;
}

static void a_device_that_ends_early_is_asked_about(void) {
    struct trial trial = make_gone_trial(gets_shorter);
    run_trial(&trial);
    expect_gone(&trial, 0);
    CHECK_EQ(trial.result.progress.blocks_done, LAST_BLOCK);
    end_trial(&trial);
}

static struct fake_reply busy_then_gone(const struct engine_read *read, unsigned nth) {
    struct fake_reply reply = vanishes(read, nth);
    uint64_t block = read->offset_bytes / BLOCK_BYTES;
    reply.result = reply.result < 0 && block % 2 == 0 ? -EBUSY : reply.result;
    return reply;
}

static void what_waits_for_its_retry_is_let_go(void) {
    struct trial trial = make_gone_trial(busy_then_gone);
    run_trial(&trial);
    expect_gone(&trial, ENODEV);
    CHECK(trial.result.progress.retries > 0);
    end_trial(&trial);
}

static void a_signal_does_not_hide_that_the_device_is_gone(void) {
    struct trial trial = make_gone_trial(vanishes);
    trial.depth = 1;
    run_trial(&trial);
    uint64_t gone_at_ns = fake_now_ns();
    expect_gone(&trial, ENODEV);
    end_trial(&trial);
    trial = make_gone_trial(vanishes);
    trial.depth = 1;
    interrupt_at_ns = gone_at_ns;
    run_trial(&trial);
    expect_gone(&trial, ENODEV);
    end_trial(&trial);
}

static const char *still_there(void *context, int error) {
    (void)context;
    (void)error;
    asked++;
    return NULL;
}

static void a_device_that_is_there_is_read_to_its_end(void) {
    struct trial trial = make_gone_trial(some_are_broken);
    trial.find_gone = still_there;
    run_trial(&trial);
    CHECK_EQ(asked, 4);
    CHECK(trial.result.gone == NULL);
    CHECK_EQ(trial.result.progress.blocks_done, BLOCKS - 4);
    CHECK_EQ(trial.result.progress.blocks_failed, 4);
    CHECK_EQ(trial.result.first_error, EIO);
    end_trial(&trial);
}

int main(void) {
    RUN(passing_errors_are_retried);
    RUN(a_passing_error_that_stays_is_a_failure_in_the_end);
    RUN(unreadable_blocks_are_listed_and_passed_over);
    RUN(a_device_that_shrank_is_noticed);
    RUN(an_interruption_drains_what_is_in_flight);
    RUN(an_interruption_after_the_last_block_changes_nothing);
    RUN(an_interrupted_retry_is_left_unread);
    RUN(a_full_submission_queue_is_tried_again);
    RUN(an_engine_that_gives_up_is_reported);
    RUN(a_device_that_disappears_ends_the_run);
    RUN(a_device_that_ends_early_is_asked_about);
    RUN(what_waits_for_its_retry_is_let_go);
    RUN(a_signal_does_not_hide_that_the_device_is_gone);
    RUN(a_device_that_is_there_is_read_to_its_end);
    return CHECK_RESULT();
}

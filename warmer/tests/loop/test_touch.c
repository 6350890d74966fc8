#include "check.h"
#include "engine_fake.h"
#include "loop/touch.h"
#include "loop/warm_touch.h"
#include "system/clock.h"

#include <errno.h>
#include <stdlib.h>

#define BLOCKS 2000u
#define COLD_NS (90 * NS_PER_MILLISECOND)
#define WARM_NS (NS_PER_MILLISECOND / 2)

/** What a first read makes fast. */
enum model { WHOLE_BLOCK, ONE_PAGE, ALREADY_WARM, BROKEN_LATER };

static enum model model;
static bool is_touched[BLOCKS];
static unsigned reads;
static bool must_fail;
static int reap_failure;

/** How long a read of this block takes, which may make it fast. */
static uint64_t take_read(uint64_t block) {
    bool is_slow = !is_touched[block] || (model == BROKEN_LATER && reads >= 32 + BLOCKS);
    reads++;
    is_touched[block] |= model != ONE_PAGE;
    return is_slow && model != ALREADY_WARM ? COLD_NS : WARM_NS;
}

static void read_pages(void *context, const uint64_t *offsets, unsigned count, double *ms) {
    (void)context;
    for (unsigned i = 0; i < count; i++) {
        uint64_t took_ns = take_read(offsets[i] / BLOCK_BYTES);
        ms[i] = must_fail ? -1 : (double)took_ns / (double)NS_PER_MILLISECOND;
    }
}

static struct touch_device device_of(enum model wanted) {
    model = wanted;
    reads = 0;
    must_fail = false;
    memset(is_touched, 0, sizeof is_touched);
    return (struct touch_device){.read = read_pages, .bytes = (uint64_t)BLOCKS * BLOCK_BYTES, .seed = 5};
}

static struct touch_result measure(enum model wanted, uint64_t blocks) {
    struct touch_device device = device_of(wanted);
    struct block_set *set = block_set_create(BLOCKS);
    struct touch_result result;
    block_set_add(set, 0, blocks);
    touch_measure(&device, set, &result);
    block_set_destroy(set);
    return result;
}

static void a_device_that_fetches_whole_blocks_may_be_touched(void) {
    struct touch_result result = measure(WHOLE_BLOCK, BLOCKS);
    CHECK(result.is_used && result.was_asked);
    CHECK_EQ(result.samples, 8);
    CHECK_BETWEEN(result.first_ms, 90, 90);
    CHECK_BETWEEN(result.rest_ms, 0.5, 0.5);
    CHECK_TEXT(result.note, "");
}

static void others_are_read_whole(void) {
    struct touch_result result = measure(ONE_PAGE, BLOCKS);
    CHECK(!result.is_used);
    CHECK_TEXT(result.note, "a block stays slow after its first read");
    result = measure(ALREADY_WARM, BLOCKS);
    CHECK(!result.is_used);
    result = measure(WHOLE_BLOCK, 63);
    CHECK(!result.is_used);
    CHECK_TEXT(result.note, "there are too few blocks to measure on");
    struct touch_device device = device_of(WHOLE_BLOCK);
    struct block_set *set = block_set_create(BLOCKS);
    block_set_add(set, 0, BLOCKS);
    must_fail = true;
    touch_measure(&device, set, &result);
    CHECK(!result.is_used);
    CHECK_TEXT(result.note, "a sample could not be read");
    block_set_destroy(set);
}

static struct fake_reply all_of_it(const struct engine_read *read, unsigned nth) {
    (void)nth;
    return (struct fake_reply){(int32_t)read->length_bytes, take_read(read->offset_bytes / BLOCK_BYTES)};
}

static bool never(void) {
    return false;
}

static uint64_t remembered;

static void count_block(void *context, uint64_t block) {
    (void)context;
    (void)block;
    remembered++;
}

/** Warm all blocks with touches on a device of this kind. */
static struct touch_result run(enum model wanted, struct warm_result *result) {
    static struct fake_engine fake;
    fake_reset(&fake, all_of_it);
    fake.reap_failure = reap_failure;
    struct block_set *set = block_set_create(BLOCKS);
    struct extents first = {0};
    block_set_add(set, 0, BLOCKS);
    (void)device_of(wanted);
    struct warm_touch touch = {.seed = 5, .wanted = set, .first = &first};
    struct plan *plan = plan_create(set);
    struct warm_settings settings = {.engine = &fake.base,
                                     .plan = plan,
                                     .device_bytes = (uint64_t)BLOCKS * BLOCK_BYTES,
                                     .alignment_bytes = 512,
                                     .max_in_flight = 16,
                                     .fixed_depth = 16,
                                     .now_ns = fake_now_ns,
                                     .is_interrupted = never,
                                     .remember = count_block};
    *result = (struct warm_result){.progress = {.blocks_total = BLOCKS}};
    remembered = 0;
    CHECK_EQ(warm_touch_run(&settings, &touch, result), 0);
    plan_destroy(plan);
    block_set_destroy(set);
    extents_clear(&result->failed);
    return touch.result;
}

static void touches_read_a_page_of_each_block_and_are_verified(void) {
    struct warm_result result;
    struct touch_result touch = run(WHOLE_BLOCK, &result);
    CHECK(touch.is_used && !touch.fell_back);
    CHECK_EQ(touch.checks, 32);
    CHECK_EQ(touch.slow_checks, 0);
    CHECK_EQ(result.progress.blocks_done, BLOCKS);
    CHECK_EQ(result.progress.bytes_done, (uint64_t)BLOCKS * BLOCK_BYTES);
    CHECK_EQ(result.progress.bytes_read, (uint64_t)BLOCKS * TOUCH_BYTES);
    CHECK_EQ(remembered, BLOCKS);
}

static void what_is_slow_afterwards_is_read_whole(void) {
    struct warm_result result;
    struct touch_result touch = run(BROKEN_LATER, &result);
    CHECK(touch.is_used && touch.fell_back);
    CHECK(touch.slow_checks > 2);
    CHECK_EQ(result.progress.blocks_done, BLOCKS);
    CHECK_EQ(result.progress.bytes_read, (uint64_t)BLOCKS * (TOUCH_BYTES + BLOCK_BYTES));
    CHECK_EQ(remembered, BLOCKS);
    touch = run(ONE_PAGE, &result);
    CHECK(!touch.is_used && !touch.fell_back);
    CHECK_EQ(result.progress.bytes_read, (uint64_t)BLOCKS * BLOCK_BYTES);
}

static void an_engine_that_gives_up_over_samples_is_reported(void) {
    struct warm_result result;
    reap_failure = -EBADF;
    (void)run(WHOLE_BLOCK, &result);
    reap_failure = 0;
    CHECK_EQ(result.engine_error, EBADF);
    CHECK_EQ(result.progress.blocks_done, 0);
}

static void samples_are_read_together(void) {
    struct warm_result result;
    struct touch_result touch = run(WHOLE_BLOCK, &result);
    CHECK_BETWEEN(touch.first_ms, 90, 90.5);
    /* The first reads of eight samples, 2,000 blocks in sixteens, and a few quick reads before and after. */
    uint64_t touches_ns = BLOCKS / 16 * COLD_NS;
    CHECK_BETWEEN(fake_now_ns(), touches_ns, touches_ns + COLD_NS + 10 * NS_PER_MILLISECOND);
}

static void the_last_block_is_no_sample_where_it_is_partial(void) {
    struct touch_device device = device_of(WHOLE_BLOCK);
    struct block_set *set = block_set_create(BLOCKS);
    struct touch_result result;
    device.bytes = (BLOCKS - 1) * (uint64_t)BLOCK_BYTES + 100;
    block_set_add(set, BLOCKS - 64, 64);
    for (device.seed = 0; device.seed < 200; device.seed++) {
        touch_measure(&device, set, &result);
        CHECK(!is_touched[BLOCKS - 1]);
    }
    block_set_destroy(set);
}

int main(void) {
    RUN(a_device_that_fetches_whole_blocks_may_be_touched);
    RUN(others_are_read_whole);
    RUN(touches_read_a_page_of_each_block_and_are_verified);
    RUN(what_is_slow_afterwards_is_read_whole);
    RUN(an_engine_that_gives_up_over_samples_is_reported);
    RUN(samples_are_read_together);
    RUN(the_last_block_is_no_sample_where_it_is_partial);
    return CHECK_RESULT();
}

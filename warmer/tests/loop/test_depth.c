/** The search for the depth, against devices with known limits. */
#include "base/random.h"
#include "check.h"
#include "engine_fake.h"
#include "loop/depth.h"
#include "loop/warm.h"
#include "system/clock.h"

#define BLOCKS 40000u
#define MS NS_PER_MILLISECOND
#define MIB_S(rate) (1048576.0 * (rate) / (double)NS_PER_SECOND)

static struct fake_engine fake;

/** A device that fetches `fetches` blocks at a time in `fetch_ns` each and moves `rate` bytes a nanosecond.
 */
static struct {
    unsigned fetches;
    uint64_t fetch_ns;
    double rate;
    double slower_rate; /**< From `slower_at_ns` on. */
    uint64_t slower_at_ns;
    unsigned slow_in_100; /**< Fetches that take two seconds. */
    uint64_t blocks;
    uint64_t free_ns[1024]; /**< When each fetcher is free. */
    double moved_ns;        /**< When the last byte so far is moved. */
    struct random random;
} model;

static uint64_t later(uint64_t left, uint64_t right) {
    return left > right ? left : right;
}

static struct fake_reply cold_volume(const struct engine_read *read, unsigned nth) {
    (void)nth;
    unsigned best = 0;
    for (unsigned i = 1; i < model.fetches; i++) {
        best = model.free_ns[i] < model.free_ns[best] ? i : best;
    }
    uint64_t now_ns = fake_now_ns();
    /* Between half and one and a half of the mean. */
    uint64_t fetch_ns = model.fetch_ns / 2 + random_below(&model.random, model.fetch_ns);
    if (random_below(&model.random, 100) < model.slow_in_100) {
        fetch_ns = 2 * NS_PER_SECOND;
    }
    uint64_t fetched_ns = later(now_ns, model.free_ns[best]) + fetch_ns;
    model.free_ns[best] = fetched_ns;
    double rate = now_ns >= model.slower_at_ns ? model.slower_rate : model.rate;
    double began_ns = model.moved_ns > (double)now_ns ? model.moved_ns : (double)now_ns;
    model.moved_ns = began_ns + read->length_bytes / rate;
    uint64_t done_ns = later(fetched_ns, (uint64_t)model.moved_ns);
    return (struct fake_reply){(int32_t)read->length_bytes, done_ns - now_ns};
}

static void set_model(unsigned fetches, uint64_t fetch_ns, double mib_s) {
    memset(&model, 0, sizeof model);
    model.fetches = fetches;
    model.fetch_ns = fetch_ns;
    model.rate = model.slower_rate = MIB_S(mib_s);
    model.slower_at_ns = UINT64_MAX;
    model.random.state = 1;
    model.blocks = BLOCKS;
}

static unsigned depth_at_end;
static unsigned depth_at_19_s;
static unsigned most_depth;
static unsigned start_depth;
static unsigned queue = DEPTH_AUTO_LIMIT;

static void watch(void *context, const struct warm_progress *progress) {
    (void)context;
    depth_at_end = progress->depth;
    most_depth = progress->depth > most_depth ? progress->depth : most_depth;
    if (progress->elapsed_ns < 19 * NS_PER_SECOND) {
        depth_at_19_s = progress->depth;
    }
}

static uint64_t stop_at_ns;

static bool is_over(void) {
    return fake_now_ns() >= stop_at_ns;
}

/** MiB/s over the first `seconds` of a run with the given depth, 0 for the search. */
static double run(unsigned depth, uint64_t seconds) {
    fake_reset(&fake, cold_volume);
    stop_at_ns = seconds * NS_PER_SECOND;
    struct block_set *wanted = block_set_create(model.blocks);
    block_set_add(wanted, 0, model.blocks);
    struct plan *plan = plan_create(wanted);
    struct warm_result result = {.progress = {.blocks_total = model.blocks}};
    struct warm_settings settings = {.engine = &fake.base,
                                     .plan = plan,
                                     .device_bytes = model.blocks * BLOCK_BYTES,
                                     .alignment_bytes = 4096,
                                     .max_in_flight = depth > 0 ? depth : queue,
                                     .fixed_depth = depth,
                                     .start_depth = start_depth,
                                     .now_ns = fake_now_ns,
                                     .is_interrupted = is_over,
                                     .observe = watch};
    CHECK_EQ(warm_run(&settings, &result), 0);
    extents_clear(&result.failed);
    plan_destroy(plan);
    block_set_destroy(wanted);
    return (double)result.progress.bytes_done / 1048576.0 / ((double)fake_now_ns() / 1e9);
}

static void a_common_volume_is_saturated_without_a_long_queue(void) {
    set_model(64, 91 * MS, 125);
    double mib_s = run(0, 30);
    CHECK_BETWEEN(mib_s, 0.95 * 125, 126);
    /* 125 MiB/s of 91 ms fetches are 23 reads: 32 is the lowest power of two that is enough. */
    CHECK_BETWEEN(depth_at_end, 16, 64);
}

static void a_deep_volume_is_found_without_being_told(void) {
    set_model(256, 91 * MS, 1000);
    double mib_s = run(0, 15);
    CHECK_BETWEEN(mib_s, 850, 1001);
    CHECK_EQ(depth_at_end, 256);
}

static void a_limit_of_fetches_is_not_queued_beyond(void) {
    set_model(64, 91 * MS, 1000);
    double best = run(256, 20);
    set_model(64, 91 * MS, 1000);
    double mib_s = run(0, 20);
    CHECK_BETWEEN(mib_s / best, 0.95, 1.05);
    CHECK_BETWEEN(depth_at_end, 64, 128);
}

static void a_warm_disk_needs_few_reads(void) {
    set_model(256, MS, 125);
    double mib_s = run(0, 20);
    CHECK_BETWEEN(mib_s, 122, 126);
    CHECK_BETWEEN(depth_at_end, 1, 8);
}

static void the_search_starts_again_when_the_volume_changes(void) {
    set_model(256, 91 * MS, 125);
    model.slower_at_ns = 20 * NS_PER_SECOND;
    model.slower_rate = MIB_S(1000);
    run(0, 40);
    CHECK_BETWEEN(depth_at_19_s, 16, 64);
    CHECK_EQ(depth_at_end, 256);
}

static void a_volume_that_got_slower_is_read_shallower(void) {
    set_model(256, 91 * MS, 1000);
    model.blocks = 60000;
    model.slower_at_ns = 10 * NS_PER_SECOND;
    model.slower_rate = MIB_S(125);
    double mib_s = run(0, 40);
    CHECK_BETWEEN(mib_s, 0.96 * (10 * 1000 + 30 * 125) / 40, 350);
    CHECK_BETWEEN(depth_at_end, 16, 64);
}

/** A common volume to its end, in seconds. */
static double seconds_to_read(uint64_t blocks, unsigned slow_in_100) {
    set_model(64, 91 * MS, 125);
    model.blocks = blocks;
    model.slow_in_100 = slow_in_100;
    run(0, 1000);
    return (double)fake_now_ns() / 1e9;
}

static void slow_blocks_hold_no_others_back(void) {
    double limit = 2500 / 250.0;
    CHECK_BETWEEN(seconds_to_read(2500, 0), limit, 1.03 * limit);
    /* Neither on the way nor at the end, where the last one could begin when all others are done. */
    CHECK_BETWEEN(seconds_to_read(2500, 1), limit, 1.05 * limit);
}

static void a_short_run_on_a_fast_volume_is_at_its_limit_too(void) {
    set_model(256, 91 * MS, 1000);
    model.blocks = 2048;
    run(0, 1000);
    CHECK_BETWEEN((double)fake_now_ns() / 1e9, 1.024, 1.2);
}

static void a_volume_that_fetches_few_at_a_time_is_at_its_limit(void) {
    set_model(64, 91 * MS, 1000);
    model.blocks = 8192;
    run(0, 1000);
    double limit = 8192 * 0.091 / 64;
    CHECK_BETWEEN((double)fake_now_ns() / 1e9, 0.98 * limit, limit / 0.97);
}

static void a_search_goes_on_where_an_earlier_one_came_to_rest(void) {
    set_model(64, 91 * MS, 125);
    start_depth = 32;
    most_depth = 0;
    double mib_s = run(0, 30);
    CHECK_BETWEEN(mib_s, 0.95 * 125, 126);
    /* A kill loses what is in flight: one step up is tried, not 256. */
    CHECK_BETWEEN(most_depth, 32, 64);
    start_depth = 0;
}

static void a_volume_that_became_faster_meanwhile_is_found_out(void) {
    set_model(256, 91 * MS, 1000);
    start_depth = 32;
    double mib_s = run(0, 15);
    CHECK_BETWEEN(mib_s, 750, 1001);
    CHECK_EQ(depth_at_end, 256);
    start_depth = 0;
}

static void any_depth_to_start_from_is_safe(void) {
    set_model(64, 91 * MS, 125);
    start_depth = UINT32_MAX;
    CHECK_BETWEEN(run(0, 30), 0.95 * 125, 126);
    set_model(64, 91 * MS, 125);
    start_depth = 1;
    CHECK_BETWEEN(run(0, 30), 0.95 * 125, 126);
    start_depth = 0;
}

static void the_search_stays_within_the_systems_queue(void) {
    set_model(256, 91 * MS, 1000);
    queue = 100;
    most_depth = 0;
    double mib_s = run(0, 20);
    CHECK_EQ(most_depth, 64);
    CHECK_BETWEEN(mib_s, 0.95 * 64 / 2 / 0.091, 1.1 * 100 / 2 / 0.091);
    queue = DEPTH_AUTO_LIMIT;
}

static void a_fixed_depth_stays(void) {
    set_model(256, 91 * MS, 1000);
    run(7, 10);
    CHECK_EQ(depth_at_end, 7);
    CHECK_EQ(fake.max_in_flight, 7);
}

int main(void) {
    RUN(a_common_volume_is_saturated_without_a_long_queue);
    RUN(a_deep_volume_is_found_without_being_told);
    RUN(a_limit_of_fetches_is_not_queued_beyond);
    RUN(a_warm_disk_needs_few_reads);
    RUN(the_search_starts_again_when_the_volume_changes);
    RUN(a_volume_that_got_slower_is_read_shallower);
    RUN(slow_blocks_hold_no_others_back);
    RUN(a_short_run_on_a_fast_volume_is_at_its_limit_too);
    RUN(a_volume_that_fetches_few_at_a_time_is_at_its_limit);
    RUN(a_search_goes_on_where_an_earlier_one_came_to_rest);
    RUN(a_volume_that_became_faster_meanwhile_is_found_out);
    RUN(any_depth_to_start_from_is_safe);
    RUN(the_search_stays_within_the_systems_queue);
    RUN(a_fixed_depth_stays);
    return CHECK_RESULT();
}

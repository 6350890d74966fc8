/** Politeness, against a volume whose reads queue up one behind the other. */
#include "check.h"
#include "engine_fake.h"
#include "loop/polite.h"
#include "loop/warm.h"
#include "system/clock.h"

#define BLOCKS 8000u
#define MS NS_PER_MILLISECOND

static struct fake_engine fake;
static double moved_ns;
static double bytes_per_ns;
static uint32_t longest_read;

/** First in, first out, at a fixed rate, and half a millisecond to get there. */
static struct fake_reply throttled(const struct engine_read *read, unsigned nth) {
    (void)nth;
    double now_ns = (double)fake_now_ns();
    moved_ns = (moved_ns > now_ns ? moved_ns : now_ns) + read->length_bytes / bytes_per_ns;
    longest_read = read->length_bytes > longest_read ? read->length_bytes : longest_read;
    return (struct fake_reply){(int32_t)read->length_bytes, (uint64_t)(moved_ns - now_ns) + MS / 2};
}

static bool is_over(void) {
    return fake_now_ns() >= 20 * NS_PER_SECOND;
}

/** 20 seconds on a volume of `mib_s`; MiB/s that the warm-up got. */
static double run(double mib_s, double limit_ms, struct warm_result *result) {
    fake_reset(&fake, throttled);
    moved_ns = 0;
    longest_read = 0;
    bytes_per_ns = mib_s * 1048576.0 / 1e9;
    struct block_set *wanted = block_set_create(BLOCKS);
    block_set_add(wanted, 0, BLOCKS);
    struct plan *plan = plan_create(wanted);
    struct warm_settings settings = {.engine = &fake.base,
                                     .plan = plan,
                                     .device_bytes = BLOCKS * (uint64_t)BLOCK_BYTES,
                                     .alignment_bytes = 512,
                                     .max_in_flight = DEPTH_AUTO_LIMIT,
                                     .polite_latency_ms = limit_ms,
                                     .now_ns = fake_now_ns,
                                     .is_interrupted = is_over};
    *result = (struct warm_result){.progress = {.blocks_total = BLOCKS}};
    CHECK_EQ(warm_run(&settings, result), 0);
    CHECK_EQ(fake.in_flight, 0);
    plan_destroy(plan);
    block_set_destroy(wanted);
    return (double)result->progress.bytes_done / 1048576.0 / ((double)fake_now_ns() / 1e9);
}

static void small_reads_stay_under_the_limit_and_the_rest_is_used(void) {
    struct warm_result result;
    double mib_s = run(125, 20, &result);
    struct latency_summary probes = latency_summarise(&result.progress.probes);
    CHECK_BETWEEN(probes.p90_ms, 0.5, 20);
    CHECK_BETWEEN(mib_s, 0.7 * 125, 125);
    CHECK_BETWEEN(result.progress.probes.count, 150, 201);
    CHECK_EQ(longest_read, 65536);
}

static void where_one_read_is_too_much_pauses_come_between(void) {
    struct warm_result result;
    /* 64 KiB take 12.5 ms to move: with one in flight, half the small reads meet more than 6 ms. */
    double mib_s = run(5, 3, &result);
    struct latency_summary probes = latency_summarise(&result.progress.probes);
    CHECK_BETWEEN(probes.p50_ms, 0.5, 3);
    CHECK_BETWEEN(mib_s, 0.1, 3.5);
}

static const struct plan *watched;
static unsigned most_leading, most_later;
static uint64_t leading_ns;

/** Reads in flight while blocks that were asked for first are given, and after. */
static void watch(void *context, const struct warm_progress *now) {
    (void)context;
    if (plan_leading(watched) > 0) {
        CHECK_EQ(now->probes.count, 0);
        CHECK_EQ(now->first_ns, 0);
    }
    if (now->first_done < now->first_total) {
        most_leading = fake.in_flight > most_leading ? fake.in_flight : most_leading;
    } else if (fake_now_ns() > now->first_ns + MS) {
        most_later = fake.in_flight > most_later ? fake.in_flight : most_later;
    }
    leading_ns = now->first_ns;
}

static void what_was_asked_for_first_is_read_at_full_speed(void) {
    fake_reset(&fake, throttled);
    moved_ns = 0;
    longest_read = most_leading = most_later = 0;
    bytes_per_ns = 125 * 1048576.0 / 1e9;
    struct block_set *wanted = block_set_create(BLOCKS);
    block_set_add(wanted, 0, BLOCKS);
    struct extents first = {0};
    extents_append(&first, 5000, 1000);
    struct plan *plan = plan_create(wanted);
    CHECK_EQ(plan_put_leading(plan, &first), 0);
    watched = plan;
    struct warm_settings settings = {.engine = &fake.base,
                                     .plan = plan,
                                     .device_bytes = BLOCKS * (uint64_t)BLOCK_BYTES,
                                     .alignment_bytes = 512,
                                     .max_in_flight = DEPTH_AUTO_LIMIT,
                                     .polite_latency_ms = 20,
                                     .first_unlimited = true,
                                     .now_ns = fake_now_ns,
                                     .is_interrupted = is_over,
                                     .observe = watch};
    struct warm_result result = {.progress = {.blocks_total = BLOCKS, .first_total = 1000}};
    CHECK_EQ(warm_run(&settings, &result), 0);
    CHECK_EQ(result.progress.first_done, 1000);
    /* 500 MiB at 125 MiB/s; with the limit of 20 ms they take a quarter longer. */
    CHECK_BETWEEN(leading_ns, 4000 * MS, 4100 * MS);
    CHECK_BETWEEN(most_leading, 100, DEPTH_AUTO_LIMIT);
    CHECK_BETWEEN(most_later, 1, 64);
    CHECK_EQ(longest_read, BLOCK_BYTES);
    struct latency_summary probes = latency_summarise(&result.progress.probes);
    CHECK_BETWEEN(probes.p90_ms, 0.5, 20);
    CHECK_BETWEEN(result.progress.probes.count, 110, 165);
    plan_destroy(plan);
    extents_clear(&first);
    block_set_destroy(wanted);
}

static void without_a_limit_nothing_is_probed(void) {
    struct warm_result result;
    double mib_s = run(125, 0, &result);
    CHECK_EQ(result.progress.probes.count, 0);
    CHECK_BETWEEN(longest_read, BLOCK_BYTES, 2 * BLOCK_BYTES);
    CHECK_BETWEEN(mib_s, 120, 126);
}

static void the_rule_cuts_fast_and_grows_slowly(void) {
    struct polite polite;
    polite_init(&polite, 10, 64, 0);
    CHECK_EQ(polite_depth(&polite), 4);
    CHECK(polite_probe(&polite, 0) == BLOCK_NONE);
    polite_note(&polite, 7);
    CHECK_EQ(polite_probe(&polite, 0), 7);
    CHECK(polite_probe(&polite, NS_PER_SECOND) == BLOCK_NONE);
    polite_answer(&polite, MS, 0);
    CHECK_BETWEEN(polite.allowed, 5, 5);
    polite_answer(&polite, 50 * MS, 0);
    CHECK_EQ(polite_depth(&polite), 3);
    polite_answer(&polite, MS, 0);
    CHECK_BETWEEN(polite.allowed, 3.44, 3.46);
    for (unsigned i = 0; i < 60; i++) {
        polite_answer(&polite, MS, 0);
    }
    /* Five seconds without meeting the limit: whoever needed the volume has gone. */
    CHECK_BETWEEN(polite.allowed, 3.35 + 5 + 11 - 0.1, 3.35 + 5 + 11 + 0.1);
    for (unsigned i = 0; i < 20; i++) {
        polite_answer(&polite, 50 * MS, 0);
    }
    CHECK_EQ(polite_depth(&polite), 1);
    CHECK(!polite_allows(&polite, 1899 * MS));
    CHECK(polite_allows(&polite, 1901 * MS));
}

int main(void) {
    RUN(small_reads_stay_under_the_limit_and_the_rest_is_used);
    RUN(where_one_read_is_too_much_pauses_come_between);
    RUN(what_was_asked_for_first_is_read_at_full_speed);
    RUN(without_a_limit_nothing_is_probed);
    RUN(the_rule_cuts_fast_and_grows_slowly);
    return CHECK_RESULT();
}

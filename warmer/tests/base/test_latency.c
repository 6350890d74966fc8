#include "base/latency.h"
#include "base/random.h"
#include "check.h"

#include <stdlib.h>

static void nothing_measured_is_zero(void) {
    struct latency latency = {0};
    struct latency_summary summary = latency_summarise(&latency);
    CHECK(summary.p99_ms <= 0 && summary.max_ms <= 0 && summary.mean_ms <= 0);
    summary = latency_of_samples(NULL, 0);
    CHECK(summary.p99_ms <= 0);
}

static void ranks_are_nearest_ranks(void) {
    CHECK_EQ(latency_rank(1, 50), 1);
    CHECK_EQ(latency_rank(2, 50), 1);
    CHECK_EQ(latency_rank(3, 50), 2);
    CHECK_EQ(latency_rank(100, 99), 99);
    CHECK_EQ(latency_rank(101, 99), 100);
    CHECK_EQ(latency_rank(200, 99), 198);
    CHECK_EQ(latency_rank(1000000007, 90), 900000007);
}

static void exact_percentiles_of_one_to_a_hundred(void) {
    uint64_t values[100];
    for (unsigned i = 0; i < 100; i++) {
        values[i] = (100 - i) * UINT64_C(1000000);
    }
    struct latency_summary summary = latency_of_samples(values, 100);
    CHECK_BETWEEN(summary.p50_ms, 50, 50);
    CHECK_BETWEEN(summary.p90_ms, 90, 90);
    CHECK_BETWEEN(summary.p99_ms, 99, 99);
    CHECK_BETWEEN(summary.max_ms, 100, 100);
    CHECK_BETWEEN(summary.mean_ms, 50.5, 50.5);
}

static void one_value_is_every_percentile(void) {
    struct latency latency = {0};
    latency_add(&latency, 90000001);
    struct latency_summary summary = latency_summarise(&latency);
    CHECK_BETWEEN(summary.p50_ms, 90.000001, 90.000001);
    CHECK_BETWEEN(summary.max_ms, 90.000001, 90.000001);
}

static void bucketed_percentiles_are_right_within_a_sixteenth(void) {
    struct latency latency = {0};
    struct random random = {42};
    static uint64_t values[20000];
    for (size_t i = 0; i < 20000; i++) {
        /* Six powers of ten, as from warm to stalled. */
        uint64_t scale = UINT64_C(1) << random_below(&random, 36);
        values[i] = scale + random_below(&random, scale);
        latency_add(&latency, values[i]);
    }
    struct latency_summary rough = latency_summarise(&latency);
    struct latency_summary exact = latency_of_samples(values, 20000);
    CHECK_BETWEEN(rough.p50_ms / exact.p50_ms, 1, 1.0626);
    CHECK_BETWEEN(rough.p90_ms / exact.p90_ms, 1, 1.0626);
    CHECK_BETWEEN(rough.p99_ms / exact.p99_ms, 1, 1.0626);
    CHECK_BETWEEN(rough.max_ms / exact.max_ms, 1, 1);
    CHECK_BETWEEN(rough.mean_ms / exact.mean_ms, 0.999999, 1.000001);
}

static void extreme_values_have_a_bucket(void) {
    struct latency latency = {0};
    latency_add(&latency, 0);
    latency_add(&latency, UINT64_MAX);
    struct latency_summary summary = latency_summarise(&latency);
    CHECK_BETWEEN(summary.p50_ms, 0, 0);
    CHECK_BETWEEN(summary.p99_ms, 1.8e13, 1.9e13);
}

static void the_generator_is_the_published_one(void) {
    struct random random = {1234567};
    CHECK(random_next(&random) == UINT64_C(6457827717110365317));
    CHECK(random_next(&random) == UINT64_C(3203168211198807973));
}

static void numbers_below_a_limit_are_even(void) {
    struct random random = {3};
    unsigned seen[7] = {0};
    for (unsigned i = 0; i < 70000; i++) {
        seen[random_below(&random, 7)]++;
    }
    for (unsigned i = 0; i < 7; i++) {
        CHECK_BETWEEN(seen[i], 9500, 10500);
    }
    CHECK_EQ(random_below(&random, 1), 0);
}

int main(void) {
    RUN(nothing_measured_is_zero);
    RUN(ranks_are_nearest_ranks);
    RUN(exact_percentiles_of_one_to_a_hundred);
    RUN(one_value_is_every_percentile);
    RUN(bucketed_percentiles_are_right_within_a_sixteenth);
    RUN(extreme_values_have_a_bucket);
    RUN(the_generator_is_the_published_one);
    RUN(numbers_below_a_limit_are_even);
    return CHECK_RESULT();
}

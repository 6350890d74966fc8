#include "base/latency.h"

#include <stdlib.h>

#define NS_PER_MS 1e6

/** Values below LATENCY_STEPS have a bucket each; above, LATENCY_STEPS buckets per power of two. */
static unsigned bucket_of(uint64_t value) {
    if (value < LATENCY_STEPS) {
        return (unsigned)value;
    }
    unsigned exponent = 63u - (unsigned)__builtin_clzll(value);
    unsigned step = (unsigned)(value >> (exponent - 4)) & (LATENCY_STEPS - 1);
    return (exponent - 3) * LATENCY_STEPS + step;
}

/** The largest value that falls into a bucket. */
static uint64_t bucket_upper(unsigned bucket) {
    if (bucket < LATENCY_STEPS) {
        return bucket;
    }
    unsigned exponent = bucket / LATENCY_STEPS + 3;
    uint64_t step = bucket % LATENCY_STEPS;
    return ((LATENCY_STEPS + step) << (exponent - 4)) + (UINT64_C(1) << (exponent - 4)) - 1;
}

void latency_add(struct latency *latency, uint64_t nanoseconds) {
    latency->buckets[bucket_of(nanoseconds)]++;
    latency->count++;
    latency->sum_ns += (double)nanoseconds;
    if (nanoseconds > latency->max_ns) {
        latency->max_ns = nanoseconds;
    }
}

uint64_t latency_rank(uint64_t count, unsigned percent) {
    uint64_t whole = count / 100 * percent;
    uint64_t rest = (count % 100 * percent + 99) / 100;
    return whole + rest > 0 ? whole + rest : 1;
}

static double percentile_ms(const struct latency *latency, unsigned percent) {
    uint64_t rank = latency_rank(latency->count, percent);
    uint64_t seen = 0;
    for (unsigned bucket = 0; bucket < LATENCY_BUCKETS; bucket++) {
        seen += latency->buckets[bucket];
        if (seen >= rank) {
            uint64_t upper = bucket_upper(bucket);
            return (double)(upper < latency->max_ns ? upper : latency->max_ns) / NS_PER_MS;
        }
    }
    return (double)latency->max_ns / NS_PER_MS;
}

struct latency_summary latency_summarise(const struct latency *latency) {
    if (latency->count == 0) {
        return (struct latency_summary){0};
    }
    return (struct latency_summary){
        .p50_ms = percentile_ms(latency, 50),
        .p90_ms = percentile_ms(latency, 90),
        .p99_ms = percentile_ms(latency, 99),
        .max_ms = (double)latency->max_ns / NS_PER_MS,
        .mean_ms = latency->sum_ns / (double)latency->count / NS_PER_MS,
    };
}

static int ascending(const void *left, const void *right) {
    uint64_t a = *(const uint64_t *)left;
    uint64_t b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

struct latency_summary latency_of_samples(uint64_t *nanoseconds, size_t count) {
    if (count == 0) {
        return (struct latency_summary){0};
    }
    qsort(nanoseconds, count, sizeof *nanoseconds, ascending);
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        sum += (double)nanoseconds[i];
    }
    return (struct latency_summary){
        .p50_ms = (double)nanoseconds[latency_rank(count, 50) - 1] / NS_PER_MS,
        .p90_ms = (double)nanoseconds[latency_rank(count, 90) - 1] / NS_PER_MS,
        .p99_ms = (double)nanoseconds[latency_rank(count, 99) - 1] / NS_PER_MS,
        .max_ms = (double)nanoseconds[count - 1] / NS_PER_MS,
        .mean_ms = sum / (double)count / NS_PER_MS,
    };
}

#ifndef WARMER_LATENCY_H
#define WARMER_LATENCY_H

#include <stddef.h>
#include <stdint.h>

/** Buckets per power of two. Percentiles are right within 1/16 (6.25 %), for any number of reads. */
#define LATENCY_STEPS 16u
#define LATENCY_BUCKETS (64u * LATENCY_STEPS)

/** A histogram of the latencies of any number of reads. Zero-initialise it before use. */
struct latency {
    uint64_t buckets[LATENCY_BUCKETS];
    uint64_t count;
    uint64_t max_ns;
    double sum_ns;
};

/** The percentiles of a histogram, in milliseconds. */
struct latency_summary {
    double p50_ms;
    double p90_ms;
    double p99_ms;
    double max_ms;
    double mean_ms;
};

/** Count one read that took so many nanoseconds. */
void latency_add(struct latency *latency, uint64_t nanoseconds);

/**
 * Percentiles by nearest rank. Each is the upper bound of its bucket, but never above the maximum; all are 0
 * if nothing was counted.
 */
struct latency_summary latency_summarise(const struct latency *latency);

/** Exact percentiles by nearest rank of `count` values. Sorts the values in place. */
struct latency_summary latency_of_samples(uint64_t *nanoseconds, size_t count);

/** The rank (from 1) of a percentile among `count` values. */
uint64_t latency_rank(uint64_t count, unsigned percent);

#endif

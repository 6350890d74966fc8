/* The volume's IOPS and throughput limits, first in first out.
 *
 * Each limit is a virtual clock: a reservation moves it on by what the request costs, and the request may
 * complete when both clocks have come that far. A clock that lags behind real time starts again at the
 * present, so unused allowance is not saved up.
 */
#ifndef FIRST_TOUCH_LIMITS_H
#define FIRST_TOUCH_LIMITS_H

#include <stdint.h>

/* EBS counts an I/O of an SSD volume in units of at most 256 KiB. */
#define OPERATION_BYTES 262144U

struct limits {
    double iops;
    double throughput_mib_s;
    uint64_t operations_free_ns;
    uint64_t bytes_free_ns;
};

/* How many operations EBS counts for a request of this length. */
unsigned limits_operations(uint64_t length_bytes);

/* Reserves one request; returns when both limits let it complete. */
uint64_t limits_reserve(struct limits *limits, uint64_t now_ns, unsigned operations, uint64_t bytes);

#endif

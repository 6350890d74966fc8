#include "limits.h"

#include "timers.h"

#define MIB 1048576.0
/* Bridges the time between an answer and the next request of a reader with one request at a time. */
#define SAVED_NS (NANOSECONDS / 1000)

unsigned limits_operations(uint64_t length_bytes) {
    return length_bytes <= OPERATION_BYTES
               ? 1
               : (unsigned)((length_bytes + OPERATION_BYTES - 1) / OPERATION_BYTES);
}

static uint64_t move_on(uint64_t *clock_ns, uint64_t now_ns, double seconds) {
    if (*clock_ns + SAVED_NS < now_ns)
        *clock_ns = now_ns - SAVED_NS;
    *clock_ns += (uint64_t)(seconds * (double)NANOSECONDS);
    return *clock_ns;
}

uint64_t limits_reserve(struct limits *limits, uint64_t now_ns, unsigned operations, uint64_t bytes) {
    uint64_t by_operations = move_on(&limits->operations_free_ns, now_ns, operations / limits->iops);
    uint64_t by_bytes =
        move_on(&limits->bytes_free_ns, now_ns, (double)bytes / (limits->throughput_mib_s * MIB));

    return by_operations > by_bytes ? by_operations : by_bytes;
}

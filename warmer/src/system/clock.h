#ifndef WARMER_CLOCK_H
#define WARMER_CLOCK_H

#include <stdint.h>

#define NS_PER_SECOND UINT64_C(1000000000)
#define NS_PER_MILLISECOND UINT64_C(1000000)

/** The time of a monotonic clock, in nanoseconds. */
uint64_t clock_now_ns(void);

/** Wait; a signal ends the wait early. */
void clock_pause_ms(uint32_t milliseconds);

#endif

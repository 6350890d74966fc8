/**
 * A bucket that leaks at the rate. What can be read in five seconds beyond the rate is what may be made up
 * for and one read: together 95 ms of the rate, which is 1.9 %. So reads are smaller where the rate is low: a
 * whole block takes 40 ms at 12.5 MiB a second.
 */
#include "loop/pace.h"

#include "base/block_set.h"
#include "system/clock.h"

#define EXCESS_NS (95 * NS_PER_MILLISECOND)
#define LONGEST_PIECE_NS (40 * NS_PER_MILLISECOND)
/** Direct reads of any device are multiples of this or less. */
#define SMALLEST_PIECE_BYTES 4096u
#define MIB 1048576.0

static uint64_t time_of(const struct pace *pace, uint64_t bytes) {
    return (uint64_t)((double)bytes * pace->ns_per_byte);
}

void pace_init(struct pace *pace, double max_mib_s, uint64_t now_ns) {
    *pace = (struct pace){.due_ns = now_ns, .piece_bytes = UINT32_MAX};
    if (max_mib_s <= 0) {
        return;
    }
    pace->ns_per_byte = (double)NS_PER_SECOND / (max_mib_s * MIB);
    pace->piece_bytes = BLOCK_BYTES;
    while (pace->piece_bytes > SMALLEST_PIECE_BYTES && time_of(pace, pace->piece_bytes) > LONGEST_PIECE_NS) {
        pace->piece_bytes /= 2;
    }
    uint64_t piece_ns = time_of(pace, pace->piece_bytes);
    pace->catch_up_ns = piece_ns < EXCESS_NS ? EXCESS_NS - piece_ns : 0;
}

bool pace_allows(const struct pace *pace, uint64_t now_ns) {
    return pace->ns_per_byte <= 0 || now_ns >= pace->due_ns;
}

void pace_charge(struct pace *pace, uint64_t bytes, uint64_t now_ns) {
    if (now_ns > pace->catch_up_ns && pace->due_ns < now_ns - pace->catch_up_ns) {
        pace->due_ns = now_ns - pace->catch_up_ns;
    }
    pace->due_ns += time_of(pace, bytes);
}

void pace_refund(struct pace *pace, uint64_t bytes) {
    uint64_t time_ns = time_of(pace, bytes);
    pace->due_ns -= time_ns < pace->due_ns ? time_ns : pace->due_ns;
}

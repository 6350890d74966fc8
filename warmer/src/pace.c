#include "pace.h"

#include "clock.h"

/** What was not used is made up for, but only this much: 50 ms are 1 % of any 5 s. */
#define CATCH_UP_NS (50 * NS_PER_MILLISECOND)
#define MIB 1048576.0

void pace_init(struct pace *pace, double max_mib_s, uint64_t now_ns) {
    pace->ns_per_byte = max_mib_s > 0 ? (double)NS_PER_SECOND / (max_mib_s * MIB) : 0;
    pace->due_ns = now_ns;
}

bool pace_allows(const struct pace *pace, uint64_t now_ns) {
    return pace->ns_per_byte <= 0 || now_ns >= pace->due_ns;
}

void pace_charge(struct pace *pace, uint64_t bytes, uint64_t now_ns) {
    if (now_ns > CATCH_UP_NS && pace->due_ns < now_ns - CATCH_UP_NS) {
        pace->due_ns = now_ns - CATCH_UP_NS;
    }
    pace->due_ns += (uint64_t)((double)bytes * pace->ns_per_byte);
}

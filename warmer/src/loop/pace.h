#ifndef WARMER_PACE_H
#define WARMER_PACE_H

#include <stdbool.h>
#include <stdint.h>

/** Limits the rate of reads: in any five seconds at most 2 % more bytes than the rate allows. */
struct pace {
    double ns_per_byte;   /**< 0: no limit. */
    uint64_t due_ns;      /**< The next read may start now or after this. */
    uint64_t catch_up_ns; /**< How much unused time may be caught up. */
    uint32_t piece_bytes; /**< The largest read. */
};

/** Begin with a limit in MiB a second; 0 means no limit. */
void pace_init(struct pace *pace, double max_mib_s, uint64_t now_ns);

/** Whether a read may start now. */
bool pace_allows(const struct pace *pace, uint64_t now_ns);

/** Count a read of `bytes` that starts now. */
void pace_charge(struct pace *pace, uint64_t bytes, uint64_t now_ns);

/** Take back `bytes` of a read that the device did not return. */
void pace_refund(struct pace *pace, uint64_t bytes);

#endif

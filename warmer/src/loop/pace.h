#ifndef WARMER_PACE_H
#define WARMER_PACE_H

#include <stdbool.h>
#include <stdint.h>

/** Keeps the bytes issued under a rate: in any five seconds at most 2 % more than that. */
struct pace {
    double ns_per_byte;   /**< 0: no limit. */
    uint64_t due_ns;      /**< The next read may start now or after this. */
    uint64_t catch_up_ns; /**< So much time that was not used may be made up for. */
    uint32_t piece_bytes; /**< No read may be larger. */
};

/** `max_mib_s` 0 means no limit. */
void pace_init(struct pace *pace, double max_mib_s, uint64_t now_ns);

/** May a read start? */
bool pace_allows(const struct pace *pace, uint64_t now_ns);

/** A read of `bytes` starts. */
void pace_charge(struct pace *pace, uint64_t bytes, uint64_t now_ns);

/** So many of the bytes of a read did not come. */
void pace_refund(struct pace *pace, uint64_t bytes);

#endif

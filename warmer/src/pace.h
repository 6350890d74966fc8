#ifndef WARMER_PACE_H
#define WARMER_PACE_H

#include <stdbool.h>
#include <stdint.h>

/** Keeps the bytes issued under a rate. */
struct pace {
    double ns_per_byte; /**< 0: no limit. */
    uint64_t due_ns;    /**< The next read may start now or after this. */
};

/** `max_mib_s` 0 means no limit. */
void pace_init(struct pace *pace, double max_mib_s, uint64_t now_ns);

/** May a read start? */
bool pace_allows(const struct pace *pace, uint64_t now_ns);

/** A read of `bytes` starts. */
void pace_charge(struct pace *pace, uint64_t bytes, uint64_t now_ns);

#endif

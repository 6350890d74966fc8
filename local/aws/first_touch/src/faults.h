/* Faults that a scenario injects: unreadable blocks, slow blocks and a volume that stops answering. */
#ifndef FIRST_TOUCH_FAULTS_H
#define FIRST_TOUCH_FAULTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* `times` of a fault that does not wear off. */
#define FAULT_ALWAYS UINT64_MAX

enum fault_kind {
    /* Reads that touch the blocks answer EIO. */
    FAULT_EIO,
    /* Fetches of the blocks take `seconds`. */
    FAULT_SLOW,
};

struct fault {
    enum fault_kind kind;
    uint64_t first_block;
    uint64_t block_count;
    /* How often it still strikes. */
    uint64_t times;
    double seconds;
};

struct faults {
    struct fault *entries;
    size_t count;
    /* Nothing is answered before this instant. */
    uint64_t stall_until_ns;
};

void faults_add(struct faults *faults, struct fault fault);
/* Removes all faults; ends a stall. */
void faults_clear(struct faults *faults);
/* True when a read of [first, end) is to fail; uses up one strike. */
bool faults_fail_read(struct faults *faults, uint64_t first_block, uint64_t end_block);
/* True when the block has a latency of its own. */
bool faults_slow_fetch(const struct faults *faults, uint64_t block, uint64_t *latency_ns);

#endif

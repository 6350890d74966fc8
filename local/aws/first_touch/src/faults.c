#include "faults.h"

#include "memory.h"
#include "timers.h"

void faults_add(struct faults *faults, struct fault fault) {
    faults->entries = must_resize(faults->entries, faults->count + 1, sizeof(*faults->entries));
    faults->entries[faults->count++] = fault;
}

void faults_clear(struct faults *faults) {
    free(faults->entries);
    *faults = (struct faults){0};
}

static bool strikes(const struct fault *fault, enum fault_kind kind, uint64_t first_block,
                    uint64_t end_block) {
    return fault->kind == kind && fault->times > 0 && first_block < fault->first_block + fault->block_count &&
           end_block > fault->first_block;
}

bool faults_fail_read(struct faults *faults, uint64_t first_block, uint64_t end_block) {
    for (size_t i = 0; i < faults->count; i++) {
        struct fault *fault = &faults->entries[i];

        if (!strikes(fault, FAULT_EIO, first_block, end_block))
            continue;
        if (fault->times != FAULT_ALWAYS)
            fault->times--;
        return true;
    }
    return false;
}

bool faults_slow_fetch(const struct faults *faults, uint64_t block, uint64_t *latency_ns) {
    for (size_t i = 0; i < faults->count; i++) {
        const struct fault *fault = &faults->entries[i];

        if (!strikes(fault, FAULT_SLOW, block, block + 1))
            continue;
        *latency_ns = (uint64_t)(fault->seconds * (double)NANOSECONDS);
        return true;
    }
    return false;
}

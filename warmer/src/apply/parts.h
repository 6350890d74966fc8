#ifndef WARMER_PARTS_H
#define WARMER_PARTS_H

#include "delta/manifest.h"

/** The parts of a manifest, one after the other, as they appear. */
struct parts {
    char *text; /**< Of the current part. */
    char address[4096];
    uint64_t wait_seconds;     /**< For each part; 0: it must be there. */
    uint64_t patience_seconds; /**< The same for faults that may pass, once a part is due. */
    bool has_part;
    struct manifest manifest;
    bool (*is_stopped)(void *context);
    void *context;
};

/** Begin; parts_close frees. Returns 0 or a refusal's status. */
int parts_open(struct parts *parts, const char *address, uint64_t wait_seconds, struct diag *diag);

/**
 * Wait for the part at the current address and check its first line against those before. Returns 0, or the
 * refusal's status.
 */
int parts_load(struct parts *parts, struct diag *diag);

/** Take the address of the next part; false: there is none. */
bool parts_go_on(struct parts *parts, const char *address);

void parts_close(struct parts *parts);

#endif

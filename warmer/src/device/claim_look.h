#ifndef WARMER_CLAIM_LOOK_H
#define WARMER_CLAIM_LOOK_H

/** What claim.c and claim_<system>.c share. No other file includes this. */
#include "device/claim.h"

/** claim_look for a disk, which is not open. */
int claim_look_at_disk(const struct claim *claim, struct diag *diag);

/** What the open disk itself can still be asked. Returns 0, or the refusal's status. */
int claim_look_at_opened(const struct claim *claim, const struct device *device, struct diag *diag);

/** Write to `who` what holds a disk that could not be opened alone; empty where the system does not say. */
void claim_name_holder(const struct claim *claim, char *who, size_t size);

/** claim_watch for a disk. */
int claim_watch_disk(const struct claim *claim, const struct device *device, struct diag *diag);

/** Whether the volume that was found, "" for none, is the one that is wanted. Returns 0 or the refusal's. */
int claim_compare(const struct claim *claim, const char *found, struct diag *diag);

#endif

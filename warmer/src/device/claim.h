#ifndef WARMER_CLAIM_H
#define WARMER_CLAIM_H

#include "base/diag.h"
#include "device/device.h"

#include <stdbool.h>

/** Which device is wanted for writing. */
struct claim {
    const char *path;
    const char *volume_id; /**< vol-… */
    bool is_image;         /**< A regular file in its place, which no check of a disk applies to. */
};

/**
 * Look whether the device may be written to: a whole disk, whose EBS volume is the one named, not mounted
 * anywhere, of which nothing is made (RAID, LVM, encryption, loop devices), no swap, open in no other
 * process, not read-only. It is not opened. Returns 0, or the refusal's status with the reason in `diag`.
 */
int claim_look(const struct claim *claim, struct diag *diag);

/**
 * Look, open the device for reading and writing for this process alone, and look again. Nobody can mount it
 * before device_close. Where something holds it that no look finds, as the kernel does for a moment after a
 * process was killed, this is tried for a minute, or until an interruption. Returns 0, or the refusal's
 * status. Nothing is written.
 */
int claim_take(const struct claim *claim, struct device **opened, struct diag *diag);

/**
 * Just before the first write: whether the path still leads to the device that was opened, which is still the
 * same volume, as large as `bytes`, and used by nobody else. Returns 0, or the refusal's status.
 */
int claim_confirm(const struct claim *claim, const struct device *device, uint64_t bytes, struct diag *diag);

/**
 * While blocks are written: whether somebody else has mounted the device, has opened it for writing, or has
 * made something of it. Returns 0, or WARMER_DISTURBED with who in `diag`. One thread at a time may ask.
 */
int claim_watch(const struct claim *claim, const struct device *device, struct diag *diag);

#endif

#ifndef WARMER_IDENTITY_H
#define WARMER_IDENTITY_H

#include "device/device.h"

#include <stdbool.h>
#include <stdint.h>

/** What the operating system knows about a device. Empty text and 0 mean "not known". */
struct identity {
    char volume_id[32];  /**< vol-… of an EBS volume. */
    char real_path[512]; /**< With links followed. */
    char name[64];       /**< The kernel's name of the disk. */
    char model[64];      /**< What the disk calls itself. */
    char serial[64];     /**< The disk's serial number. */
    uint64_t max_request_bytes;
    uint64_t read_ahead_bytes;
    uint64_t queue_depth;
    uint64_t logical_block_bytes;
    uint64_t physical_block_bytes;
    bool is_read_only; /**< The kernel refuses writes. */
};

/** Fill in what is known about the device. It never fails: what cannot be found stays empty. */
void identity_find(const char *path, const struct device *device, struct identity *identity);

/**
 * Refuse a device that is known to be another volume than `volume_id` (NULL: any will do). Where nobody knows
 * which it is, as with an image or a disk of Xen, there is nothing to compare. Returns 0 or
 * WARMER_WRONG_VOLUME.
 */
int identity_confirm(const struct identity *identity, const char *path, const char *volume_id,
                     struct diag *diag);

/**
 * Find `vol` with 17 (or 8) hexadecimal digits in an NVMe serial number or the name of a by-id link, where it
 * may stand as digits (nvme.1d0f-766f6c…), and write vol-… to `volume_id`. Returns false if there is none.
 */
bool identity_volume_id(const char *text, char *volume_id, uint32_t size);

#endif

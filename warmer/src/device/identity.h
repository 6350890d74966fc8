#ifndef WARMER_IDENTITY_H
#define WARMER_IDENTITY_H

#include "device/device.h"

#include <stdbool.h>
#include <stdint.h>

/** What the operating system knows about a device. Empty text and zero mean "not known". */
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

/** Find out; never fails, knows less instead. */
void identity_find(const char *path, const struct device *device, struct identity *identity);

/** vol-… from an NVMe serial or by-id link name that holds vol followed by 17 hexadecimal digits (or 8). */
bool identity_volume_id(const char *text, char *volume_id, uint32_t size);

#endif

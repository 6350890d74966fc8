#ifndef WARMER_DEVICE_FACTS_H
#define WARMER_DEVICE_FACTS_H

/** What device.c and device_<system>.c share. No other file includes this. */
#include "device/device.h"

/** What is known about an open device on every system. Each system's struct device begins with this. */
struct device_facts {
    uint64_t bytes;
    uint32_t alignment_bytes;
    bool is_block;
    char note[160]; /**< Why reads use the page cache; empty when they bypass it. */
};

/**
 * Open the device at `path` for reading and fill in its facts. Returns NULL, or the reason why that failed.
 * `*begun` is closed by the caller in both cases; it is NULL when memory is short.
 */
const char *device_begin(const char *path, struct device **begun);

/**
 * The same for reading and writing, for this process alone: nobody can mount a block device meanwhile. Only
 * claim_<system>.c calls this.
 */
const char *device_begin_writing(const char *path, struct device **begun);

/** The size of the device now, in bytes; 0 when it has none, UINT64_MAX when the disk does not answer. */
uint64_t device_bytes_now(const struct device *device);

/** Whether the system still lists the device; true on a system that keeps no such list. */
bool device_is_listed(const struct device *device);

#endif

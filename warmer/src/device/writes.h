#ifndef WARMER_WRITES_H
#define WARMER_WRITES_H

#include "device/device.h"

#include <stdbool.h>
#include <stdint.h>

/** What the system has counted of a device's writes and discards since the machine was booted. */
struct writes {
    char boot_id[40];  /**< Of this time that the machine runs; empty: there is none. */
    bool is_counted;   /**< A regular file has no counts. */
    uint64_t sectors;  /**< Of 512 bytes. */
    uint64_t requests; /**< Once the system has merged them. */
};

void writes_read(const struct device *device, struct writes *writes);

/** Whether nothing was written between the two: they are of one boot, and of as many writes, but not none. */
bool writes_are_equal(const struct writes *one, const struct writes *other);

/** Read BOOTID,SECTORS,REQUESTS; false if `text` is anything else. */
bool writes_parse(const char *text, struct writes *writes);

#endif

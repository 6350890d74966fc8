#ifndef WARMER_WRITES_H
#define WARMER_WRITES_H

#include "device/device.h"

#include <stdbool.h>
#include <stdint.h>

/** What the system has counted of a device's writes and discards since the device was attached. */
struct writes {
    char boot_id[40];  /**< Of this time that the machine runs; empty: there is none. */
    bool has_counts;   /**< The system counts now; not of a regular file. */
    bool is_counted;   /**< And devices have sequence numbers. */
    uint64_t sectors;  /**< Of 512 bytes. */
    uint64_t requests; /**< Once the system has merged them. */
    uint64_t sequence; /**< Another one each time that a device is attached. */
};

void writes_read(const struct device *device, struct writes *writes);

/**
 * The bytes that were written and discarded between two counts of a device that stayed open. False where they
 * are not known: the system did not count at both times, or its counts went back.
 */
bool writes_between(const struct writes *before, const struct writes *after, uint64_t *bytes);

/** Whether nothing was written between the two: they are of one boot and one attachment, and as many writes.
 */
bool writes_are_equal(const struct writes *one, const struct writes *other);

/** Read BOOTID,SECTORS,REQUESTS,SEQUENCE; false if `text` is anything else. */
bool writes_parse(const char *text, struct writes *writes);

#endif

#ifndef WARMER_PARTITIONS_H
#define WARMER_PARTITIONS_H

#include "base/diag.h"
#include "filesystems/source.h"

#include <stdbool.h>

/** More partitions than any table that is read here holds. */
#define PARTITIONS_LIMIT 256u

/** A partition, in bytes. */
struct partition {
    uint64_t start;
    uint64_t count;
    const char
        *manager; /**< Its type is of something that keeps several volumes in one partition; or NULL. */
};

/** The partitions of a device. */
struct partitions {
    const char *table;                        /**< "gpt", "mbr", or NULL if the device has no table. */
    struct partition items[PARTITIONS_LIMIT]; /**< Ascending and disjoint. */
    size_t length;
    struct extent tables[PARTITIONS_LIMIT]; /**< The tables themselves, beyond the device's first MiB. */
    size_t table_count;
    bool boots; /**< One is an EFI system or BIOS boot partition, or is marked for a boot loader. */
};

/** Read the partition tables. Returns 0, or -1 with the reason if a table cannot be understood. */
int partitions_read(const struct source *device, struct partitions *partitions, struct diag *diag);

/** Whether a machine can start from a device. */
enum boot { BOOT_UNKNOWN, BOOT_MISSING, BOOT_THERE };

/**
 * Look for what firmware starts: a partition for it, or code in the first sector. Code alone says nothing,
 * because tools put it on data disks, too.
 */
enum boot partitions_boot(const struct source *device);

#endif

#ifndef WARMER_PARTITIONS_H
#define WARMER_PARTITIONS_H

#include "base/diag.h"
#include "filesystems/source.h"

#include <stdbool.h>

/** More than any table holds that is looked at here. */
#define PARTITIONS_LIMIT 256u

/** Where the partitions of a device lie. */
struct partitions {
    const char *table;                     /**< "gpt", "mbr", or NULL: the device has none. */
    struct extent items[PARTITIONS_LIMIT]; /**< In bytes, ascending and disjoint. */
    size_t length;
    struct extent tables[PARTITIONS_LIMIT]; /**< The tables themselves, beyond the device's first MiB. */
    size_t table_count;
};

/** Read the tables; 0, or -1 with the reason where there is one that cannot be followed. */
int partitions_read(const struct source *device, struct partitions *partitions, struct diag *diag);

/** Does a manager of volumes own this partition, whatever an older file system left of its superblock? */
bool partition_has_manager(const struct source *part);

#endif

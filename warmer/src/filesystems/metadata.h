#ifndef WARMER_METADATA_H
#define WARMER_METADATA_H

#include "base/extents.h"
#include "filesystems/source.h"

/** The blocks in which the file systems of a device keep their own structures. */
struct metadata {
    struct extents blocks; /**< Ascending and disjoint; empty if no file system was understood. */
    char found[192];       /**< The file systems that were understood: "ext4, ntfs". */
};

/**
 * Find the metadata of the file systems on the device and its partitions, with few reads. What is not
 * understood or contradicts itself is skipped, because only the order of reads depends on it. The caller
 * clears the list.
 */
void metadata_find(const struct source *device, struct metadata *metadata);

#endif

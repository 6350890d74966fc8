#ifndef WARMER_METADATA_H
#define WARMER_METADATA_H

#include "base/extents.h"
#include "filesystems/source.h"

/** Where the file systems of a device keep their own structures. */
struct metadata {
    struct extents blocks; /**< Ascending and disjoint; empty where no file system was understood. */
    char found[192];       /**< Which were: "ext4, ntfs". */
};

/**
 * Look for partition tables and file systems. Whatever is not understood, or contradicts itself, is passed
 * over: this decides about an order only. Reads little: where things are, not what is in them. The caller
 * clears the list.
 */
void metadata_find(const struct source *device, struct metadata *metadata);

#endif

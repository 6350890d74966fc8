#ifndef WARMER_NTFS_H
#define WARMER_NTFS_H

/** What ntfs_used.c and ntfs_record.c share. Nobody else includes this. */
#include "source.h"

#include <stdbool.h>
#include <stdint.h>

#define NTFS_MAX_RECORD_BYTES 65536u

#define NTFS_ATTRIBUTE_LIST 0x20u
#define NTFS_VOLUME_INFORMATION 0x70u
#define NTFS_DATA 0x80u

/** Where the clusters of an attribute lie, in its order. */
struct ntfs_runs {
    struct extent *items; /**< In clusters of the volume. */
    size_t length;
    size_t capacity;
    uint64_t clusters; /**< Of all runs. */
};

/** An unnamed attribute of a record. */
struct ntfs_attribute {
    const uint8_t *bytes;
    uint32_t length;
    bool is_resident;
};

/** Undo the protection of each sector's last two bytes and check the record's frame; 0 or -EIO. */
int ntfs_check_record(uint8_t *record, uint32_t record_bytes);

/** Find the unnamed attribute of a type; 0, -ENOENT, or -EIO where the record is damaged. */
int ntfs_find_attribute(const uint8_t *record, uint32_t record_bytes, uint32_t type,
                        struct ntfs_attribute *attribute);

/** The runs of a non-resident attribute, all within `clusters` of the volume and none sparse; 0 or -errno. */
int ntfs_decode_runs(const struct ntfs_attribute *attribute, uint64_t clusters, struct ntfs_runs *runs);

/** Free the runs. */
void ntfs_clear_runs(struct ntfs_runs *runs);

#endif

#ifndef WARMER_NTFS_H
#define WARMER_NTFS_H

/** What the files that read NTFS share. Nobody else includes this. */
#include "base/diag.h"
#include "filesystems/source.h"

#include <stdbool.h>
#include <stdint.h>

#define NTFS_MAX_RECORD_BYTES 65536u

/** Records of the system files, by their place in the master file table. */
#define NTFS_RECORD_MFT 0u
#define NTFS_RECORD_MIRROR 1u
#define NTFS_RECORD_LOG_FILE 2u
#define NTFS_RECORD_VOLUME 3u
#define NTFS_RECORD_BITMAP 6u

/** What is in use at the beginning: the boot sector and the loader. */
#define NTFS_BOOT_FILE_BYTES 8192u

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

/** An open file system. */
struct ntfs {
    const struct source *source;
    struct diag *diag;
    uint64_t clusters;
    uint64_t mft_cluster;
    uint32_t cluster_bytes;
    uint32_t record_bytes;
    struct ntfs_runs mft;
    uint8_t *record; /**< The one read last. */
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

/** Read the boot sector and find the master file table; 1 if it is NTFS, 0 if not, -1 with the reason. */
int ntfs_open(struct ntfs *fs, const struct source *source, struct diag *diag);

/** Free what it takes, whatever ntfs_open answered. */
void ntfs_close(struct ntfs *fs);

/** Where byte `offset` of a file with these runs lies; UINT64_MAX beyond its end. `*rest`: bytes from there.
 */
uint64_t ntfs_place(const struct ntfs *fs, const struct ntfs_runs *runs, uint64_t offset, uint64_t *rest);

/** Read record `number`; a part of a file elsewhere (an attribute list) is not followed. 0 or -1. */
int ntfs_read_record(struct ntfs *fs, uint64_t number);

/** The runs of the data of record `number`, whose size goes to `*bytes`; 0 or -1. */
int ntfs_read_runs(struct ntfs *fs, uint64_t number, struct ntfs_runs *runs, uint64_t *bytes);

#endif

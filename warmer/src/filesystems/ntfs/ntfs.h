#ifndef WARMER_NTFS_H
#define WARMER_NTFS_H

/** What the files that read NTFS share. No other file includes this. */
#include "base/diag.h"
#include "filesystems/source.h"

#include <stdbool.h>
#include <stdint.h>

#define NTFS_MAX_RECORD_BYTES 65536u

/** The numbers of the system files' records in the master file table. */
#define NTFS_RECORD_MFT 0u
#define NTFS_RECORD_MIRROR 1u
#define NTFS_RECORD_LOG_FILE 2u
#define NTFS_RECORD_VOLUME 3u
#define NTFS_RECORD_BITMAP 6u

/** The size of the boot sector and the loader at the beginning, in bytes. */
#define NTFS_BOOT_FILE_BYTES 8192u

#define NTFS_ATTRIBUTE_LIST 0x20u
#define NTFS_VOLUME_INFORMATION 0x70u
#define NTFS_DATA 0x80u

/** The runs of clusters of an attribute, in its order. */
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
    uint64_t mirror_cluster; /**< Where the copy of the table's first records lies. */
    uint32_t cluster_bytes;
    uint32_t record_bytes;
    struct ntfs_runs mft;
    uint8_t *record; /**< The record that was read last. */
};

/** An unnamed attribute of a record. */
struct ntfs_attribute {
    const uint8_t *bytes;
    uint32_t length;
    bool is_resident;
};

/** Restore the last two bytes of each sector and check the record's header. Returns 0 or -EIO. */
int ntfs_check_record(uint8_t *record, uint32_t record_bytes);

/** Find the unnamed attribute of a type. Returns 0, -ENOENT, or -EIO if the record is damaged. */
int ntfs_find_attribute(const uint8_t *record, uint32_t record_bytes, uint32_t type,
                        struct ntfs_attribute *attribute);

/**
 * Decode the runs of a non-resident attribute. Returns 0, or -errno if a run is sparse or reaches beyond the
 * volume's `clusters`.
 */
int ntfs_decode_runs(const struct ntfs_attribute *attribute, uint64_t clusters, struct ntfs_runs *runs);

/** Free the runs. */
void ntfs_clear_runs(struct ntfs_runs *runs);

/**
 * Read the boot sector and find the master file table. Returns 1 if it is NTFS, 0 if it is not, -1 with the
 * reason if it is damaged.
 */
int ntfs_open(struct ntfs *fs, const struct source *source, struct diag *diag);

/** Free the memory, whatever ntfs_open returned. */
void ntfs_close(struct ntfs *fs);

/**
 * The byte of the source at which byte `offset` of a file with these runs lies; UINT64_MAX beyond its end.
 * Sets
 * `*rest` to the bytes that follow in the same run.
 */
uint64_t ntfs_place(const struct ntfs *fs, const struct ntfs_runs *runs, uint64_t offset, uint64_t *rest);

/** Read record `number`; attribute lists are not followed. Returns 0, or -1 with the reason. */
int ntfs_read_record(struct ntfs *fs, uint64_t number);

/** Find the runs and the size in bytes of the data of record `number`. Returns 0, or -1 with the reason. */
int ntfs_read_runs(struct ntfs *fs, uint64_t number, struct ntfs_runs *runs, uint64_t *bytes);

#endif

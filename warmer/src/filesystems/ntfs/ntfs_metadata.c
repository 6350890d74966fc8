/**
 * Where an NTFS file system keeps its own structures: the master file table and its mirror, the log and the
 * bitmap of clusters. Only the boot sector and four records of the table are read.
 */
#include "filesystems/ntfs/ntfs.h"

#include "filesystems/used.h"

static void add_runs(const struct ntfs *fs, struct used *used, const struct ntfs_runs *runs) {
    for (size_t i = 0; i < runs->length; i++) {
        used_add_metadata(used, fs->source, runs->items[i].start * fs->cluster_bytes,
                          runs->items[i].count * fs->cluster_bytes);
    }
}

static int add_files(struct ntfs *fs, struct used *used) {
    static const uint64_t records[] = {NTFS_RECORD_MIRROR, NTFS_RECORD_LOG_FILE, NTFS_RECORD_BITMAP};
    int failure = 0;
    used_add_metadata(used, fs->source, 0, NTFS_BOOT_FILE_BYTES);
    add_runs(fs, used, &fs->mft);
    for (size_t i = 0; i < sizeof records / sizeof records[0] && failure == 0; i++) {
        struct ntfs_runs runs = {0};
        uint64_t bytes = 0;
        failure = ntfs_read_runs(fs, records[i], &runs, &bytes);
        add_runs(fs, used, &runs);
        ntfs_clear_runs(&runs);
    }
    return failure;
}

enum used_answer ntfs_find_metadata(const struct source *source, struct used *used, struct diag *diag) {
    struct ntfs fs;
    int known = ntfs_open(&fs, source, diag);
    if (known > 0 && add_files(&fs, used) != 0) {
        known = -1;
    }
    ntfs_close(&fs);
    return known == 0 ? USED_UNKNOWN : known > 0 ? USED_KNOWN : USED_REFUSED;
}

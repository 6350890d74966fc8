/**
 * Where an ext4 file system keeps its own structures: of each group the bitmaps and the part of the inode
 * table that is in use, and the journal. Only the superblock, the descriptors and the journal's inode are
 * read.
 */
#include "filesystems/ext4/ext4.h"

#include "filesystems/used.h"

/** The journal, where its inode says; a file system without one, or with a strange one, is found all the
 * same. */
static void add_journal(struct ext4_scan *scan) {
    const struct ext4 *fs = &scan->fs;
    struct extents pieces = {0};
    struct diag reason = {{0}};
    if (ext4_find_journal(fs, &pieces, &reason) == 0) {
        for (size_t i = 0; i < pieces.length; i++) {
            used_add_metadata(scan->used, fs->source, pieces.items[i].start * fs->block_bytes,
                              pieces.items[i].count * fs->block_bytes);
        }
    }
    extents_clear(&pieces);
}

static int add_groups(struct ext4_scan *scan) {
    const struct ext4 *fs = &scan->fs;
    uint64_t batch = ext4_batch(scan);
    int failure = 0;
    for (uint64_t first = 0; first < fs->groups && failure == 0; first += batch) {
        uint64_t count = fs->groups - first < batch ? fs->groups - first : batch;
        failure = ext4_read_groups(scan, first, count);
        for (uint64_t i = 0; i < count && failure == 0; i++) {
            failure = ext4_add_group(scan, first + i, &scan->groups[i]);
        }
    }
    return failure;
}

enum used_answer ext4_find_metadata(const struct source *source, struct used *used, struct diag *diag) {
    struct ext4_scan scan = {.used = used, .diag = diag};
    int known = ext4_begin(&scan, source);
    if (known > 0 && add_groups(&scan) != 0) {
        known = -1;
    }
    if (known > 0) {
        add_journal(&scan);
    }
    ext4_end(&scan);
    return known == 0 ? USED_UNKNOWN : known > 0 ? USED_KNOWN : USED_REFUSED;
}

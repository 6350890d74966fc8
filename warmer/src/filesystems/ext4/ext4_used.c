/**
 * What an ext4 file system uses: its superblocks, descriptors, bitmaps and inode tables, and what its block
 * bitmaps say.
 *
 * Where the journal still has to be replayed, each bitmap counts together with every newer copy of it in the
 * journal: whatever a replay makes of them, no block that is in use then is missing.
 */
#include "filesystems/ext4/ext4.h"

#include "filesystems/used.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int refuse(struct ext4_scan *scan, const char *reason) {
    return diag_refuse(scan->diag, -1, "ext4: %s", reason);
}

static int refuse_read(struct ext4_scan *scan, int failure) {
    return diag_refuse(scan->diag, -1, "ext4: its metadata cannot be read: %s", strerror(-failure));
}

/** Clusters that a bitmap calls free. */
static uint64_t count_free(const uint8_t *bitmap, uint64_t bits) {
    uint64_t used = 0;
    for (uint64_t byte = 0; byte < bits / 8; byte++) {
        used += (uint64_t)__builtin_popcount(bitmap[byte]);
    }
    for (uint64_t bit = bits / 8 * 8; bit < bits; bit++) {
        used += (unsigned)bitmap[bit / 8] >> (bit % 8) & 1u;
    }
    return bits - used;
}

/** The bitmap of a group, and its copies in the journal. */
static int read_bitmap(struct ext4_scan *scan, uint64_t number, const struct ext4_group *group) {
    const struct ext4 *fs = &scan->fs;
    uint64_t start = ext4_group_start(fs, number) * fs->block_bytes;
    uint64_t bytes = ext4_group_blocks(fs, number) * fs->block_bytes;
    uint64_t clusters = bytes / fs->cluster_bytes + (bytes % fs->cluster_bytes != 0);
    size_t copies = 0;
    const struct ext4_journal_copy *copy = ext4_find_copies(fs, group->block_bitmap, &copies);
    int failure = ext4_read_block(fs, group->block_bitmap, scan->block);
    if (failure == 0 && !fs->needs_recovery && count_free(scan->block, clusters) != group->free_clusters) {
        return refuse(scan, "a bitmap and its count of free blocks disagree");
    }
    if (failure == 0) {
        used_add_bits(scan->used, fs->source, scan->block, clusters, start, fs->cluster_bytes);
    }
    for (size_t i = 0; i < copies && failure == 0; i++) {
        failure = ext4_read_copy(fs, &copy[i], scan->block);
        if (failure == 0) {
            used_add_bits(scan->used, fs->source, scan->block, clusters, start, fs->cluster_bytes);
        }
    }
    return failure == 0 ? 0 : refuse_read(scan, failure);
}

static int read_bitmaps(struct ext4_scan *scan, uint64_t first, uint64_t count) {
    struct extents list = {0};
    int failure = 0;
    for (uint64_t i = 0; i < count && failure == 0; i++) {
        failure = ext4_add_group(scan, first + i, &scan->groups[i]);
        if (failure == 0 && !scan->groups[i].has_no_block_bitmap) {
            failure = ext4_expect(scan, &list, scan->groups[i].block_bitmap) == 0
                          ? 0
                          : refuse(scan, "out of memory");
        }
    }
    source_expect(scan->fs.source, &list);
    for (uint64_t i = 0; i < count && failure == 0; i++) {
        if (!scan->groups[i].has_no_block_bitmap) {
            failure = read_bitmap(scan, first + i, &scan->groups[i]);
        }
    }
    return failure;
}

static int read_all(struct ext4_scan *scan) {
    const struct ext4 *fs = &scan->fs;
    uint64_t batch = ext4_batch(scan);
    int failure = fs->needs_recovery ? ext4_read_journal(&scan->fs, scan->diag) : 0;
    failure = failure == 0 ? ext4_check_supers(fs, scan->diag) : failure;
    for (uint64_t first = 0; first < fs->groups && failure == 0; first += batch) {
        uint64_t count = fs->groups - first < batch ? fs->groups - first : batch;
        failure = ext4_read_groups(scan, first, count);
        if (failure == 0) {
            failure = read_bitmaps(scan, first, count);
        }
    }
    return failure;
}

enum used_answer ext4_read_used(const struct source *source, struct used *used, struct diag *diag) {
    struct ext4_scan scan = {.used = used, .diag = diag};
    int known = ext4_begin(&scan, source);
    if (known > 0 && read_all(&scan) != 0) {
        known = -1;
    }
    if (known > 0) {
        used->end = scan.fs.blocks * scan.fs.block_bytes;
    }
    ext4_end(&scan);
    return known == 0 ? USED_UNKNOWN : known > 0 ? USED_KNOWN : USED_REFUSED;
}

/**
 * What an ext4 file system uses: its superblocks, descriptors, bitmaps and inode tables, and what its block
 * bitmaps say.
 *
 * Where the journal still has to be replayed, each bitmap counts together with every newer copy of it in the
 * journal: whatever a replay makes of them, no block that is in use then is missing.
 */
#include "ext4.h"

#include "used.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/** Groups looked at together, so that a cold device fetches their bitmaps together. */
#define BATCH_GROUPS 4096u

struct scan {
    struct ext4 fs;
    struct used *used;
    struct ext4_group *groups; /**< Of one batch. */
    uint8_t *block;            /**< A block being looked at. */
    struct diag *diag;
};

static int refuse(struct scan *scan, const char *reason) {
    return diag_refuse(scan->diag, -1, "ext4: %s", reason);
}

static int refuse_read(struct scan *scan, int failure) {
    return diag_refuse(scan->diag, -1, "ext4: its metadata cannot be read: %s", strerror(-failure));
}

static void add_metadata(struct scan *scan, uint64_t block, uint64_t count) {
    uint64_t bytes = scan->fs.block_bytes;
    used_add_metadata(scan->used, scan->fs.source, block * bytes, count * bytes);
}

static int expect(struct scan *scan, struct extents *list, uint64_t block) {
    return extents_append(list, block * scan->fs.block_bytes, scan->fs.block_bytes);
}

/** Take the descriptors of one block; those that are in the journal may only say that more is in use. */
static int decode_block(struct scan *scan, struct ext4_group *groups, uint64_t count, bool is_copy) {
    for (uint64_t i = 0; i < count; i++) {
        struct ext4_group group = ext4_decode_group(&scan->fs, scan->block + i * scan->fs.descriptor_bytes);
        if (!is_copy) {
            groups[i] = group;
            continue;
        }
        if (group.block_bitmap != groups[i].block_bitmap || group.inode_table != groups[i].inode_table) {
            return refuse(scan, "its journal moves its metadata");
        }
        groups[i].has_no_block_bitmap &= group.has_no_block_bitmap;
        groups[i].has_no_inodes &= group.has_no_inodes;
        if (group.unused_inodes < groups[i].unused_inodes) {
            groups[i].unused_inodes = group.unused_inodes;
        }
    }
    return 0;
}

/** Descriptor block `index`, whose first group is `groups[0]`, and its copies in the journal. */
static int read_descriptors(struct scan *scan, uint64_t index, struct ext4_group *groups, uint64_t count) {
    const struct ext4 *fs = &scan->fs;
    uint64_t block = ext4_descriptor_block(fs, index);
    size_t copies = 0;
    const struct ext4_journal_copy *copy = ext4_find_copies(fs, block, &copies);
    int failure = ext4_read_block(fs, block, scan->block);
    if (failure != 0) {
        return refuse_read(scan, failure);
    }
    add_metadata(scan, block, 1);
    failure = decode_block(scan, groups, count, false);
    for (size_t i = 0; i < copies && failure == 0; i++) {
        failure = ext4_read_copy(fs, &copy[i], scan->block);
        failure = failure != 0 ? refuse_read(scan, failure) : decode_block(scan, groups, count, true);
    }
    return failure;
}

/** The descriptors of `count` groups from `first`, which begins a descriptor block. */
static int read_groups(struct scan *scan, uint64_t first, uint64_t count) {
    const struct ext4 *fs = &scan->fs;
    uint64_t each = fs->descriptors_per_block;
    struct extents list = {0};
    int failure = 0;
    for (uint64_t group = first; group < first + count && failure == 0; group += each) {
        failure = expect(scan, &list, ext4_descriptor_block(fs, group / each));
    }
    source_expect(fs->source, &list);
    for (uint64_t done = 0; done < count && failure == 0; done += each) {
        uint64_t here = count - done < each ? count - done : each;
        failure = read_descriptors(scan, (first + done) / each, scan->groups + done, here);
    }
    return failure == -ENOMEM ? refuse(scan, "out of memory") : failure;
}

/** Where a group's metadata lies; all of it within the file system. */
static int add_group_metadata(struct scan *scan, uint64_t number, const struct ext4_group *group) {
    const struct ext4 *fs = &scan->fs;
    if (group->block_bitmap >= fs->blocks || group->inode_bitmap >= fs->blocks ||
        group->inode_table >= fs->blocks || fs->inode_table_blocks > fs->blocks - group->inode_table) {
        return refuse(scan, "a group's metadata lies outside");
    }
    add_metadata(scan, group->block_bitmap, 1);
    add_metadata(scan, group->inode_bitmap, 1);
    uint64_t inodes = group->has_no_inodes ? 0 : fs->inodes_per_group;
    inodes -= group->unused_inodes < inodes ? group->unused_inodes : inodes;
    uint64_t bytes = inodes * fs->inode_bytes;
    used_add_metadata(scan->used, fs->source, group->inode_table * fs->block_bytes, bytes);
    used_add(scan->used, fs->source, group->inode_table * fs->block_bytes,
             fs->inode_table_blocks * fs->block_bytes);
    if (group->has_no_block_bitmap) {
        /* Nothing else says that these are in use. */
        used_add(scan->used, fs->source, ext4_group_start(fs, number) * fs->block_bytes,
                 ext4_leading_blocks(fs, number) * fs->block_bytes);
    }
    return 0;
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
static int read_bitmap(struct scan *scan, uint64_t number, const struct ext4_group *group) {
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

static int read_bitmaps(struct scan *scan, uint64_t first, uint64_t count) {
    struct extents list = {0};
    int failure = 0;
    for (uint64_t i = 0; i < count && failure == 0; i++) {
        failure = add_group_metadata(scan, first + i, &scan->groups[i]);
        if (failure == 0 && !scan->groups[i].has_no_block_bitmap) {
            failure =
                expect(scan, &list, scan->groups[i].block_bitmap) == 0 ? 0 : refuse(scan, "out of memory");
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

static int read_all(struct scan *scan) {
    struct ext4 *fs = &scan->fs;
    uint64_t each = fs->descriptors_per_block;
    uint64_t batch = (BATCH_GROUPS + each - 1) / each * each;
    scan->block = malloc(fs->block_bytes);
    scan->groups = calloc(batch, sizeof *scan->groups);
    if (scan->block == NULL || scan->groups == NULL) {
        return refuse(scan, "out of memory");
    }
    /* The boot sector, the superblock and what lies before the first group. */
    used_add_metadata(scan->used, fs->source, 0, 2048 + (uint64_t)fs->block_bytes);
    int failure = fs->needs_recovery ? ext4_read_journal(fs, scan->diag) : 0;
    for (uint64_t first = 0; first < fs->groups && failure == 0; first += batch) {
        uint64_t count = fs->groups - first < batch ? fs->groups - first : batch;
        failure = read_groups(scan, first, count);
        if (failure == 0) {
            failure = read_bitmaps(scan, first, count);
        }
    }
    return failure;
}

enum used_answer ext4_read_used(const struct source *source, struct used *used, struct diag *diag) {
    struct scan scan = {.used = used, .diag = diag};
    int known = ext4_open(&scan.fs, source, diag);
    if (known > 0 && read_all(&scan) != 0) {
        known = -1;
    }
    if (known > 0) {
        used_add_tail(used, source, scan.fs.blocks * scan.fs.block_bytes);
    }
    ext4_close(&scan.fs);
    free(scan.block);
    free(scan.groups);
    return known == 0 ? USED_UNKNOWN : known > 0 ? USED_KNOWN : USED_REFUSED;
}

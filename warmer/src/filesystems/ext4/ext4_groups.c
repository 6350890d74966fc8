/** The groups of an ext4 file system: their descriptors, and where their metadata lies. */
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

int ext4_expect(struct ext4_scan *scan, struct extents *list, uint64_t block) {
    return extents_append(list, block * scan->fs.block_bytes, scan->fs.block_bytes);
}

int ext4_begin(struct ext4_scan *scan, const struct source *source) {
    int known = ext4_open(&scan->fs, source, scan->diag);
    if (known <= 0) {
        return known;
    }
    scan->block = malloc(scan->fs.block_bytes);
    uint64_t batch = ext4_batch(scan) < scan->fs.groups ? ext4_batch(scan) : scan->fs.groups;
    scan->groups = calloc(batch, sizeof *scan->groups);
    if (scan->block == NULL || scan->groups == NULL) {
        return refuse(scan, "out of memory");
    }
    /* The boot sector, the superblock and what lies before the first group. */
    used_add_metadata(scan->used, source, 0, 2048 + (uint64_t)scan->fs.block_bytes);
    return 1;
}

void ext4_end(struct ext4_scan *scan) {
    ext4_close(&scan->fs);
    free(scan->block);
    free(scan->groups);
}

uint64_t ext4_batch(const struct ext4_scan *scan) {
    uint64_t each = scan->fs.descriptors_per_block;
    return (EXT4_BATCH_GROUPS + each - 1) / each * each;
}

static void add_metadata(struct ext4_scan *scan, uint64_t block, uint64_t count) {
    uint64_t bytes = scan->fs.block_bytes;
    used_add_metadata(scan->used, scan->fs.source, block * bytes, count * bytes);
}

/** Take the descriptors of one block; those that are in the journal may only say that more is in use. */
static int decode_block(struct ext4_scan *scan, struct ext4_group *groups, uint64_t count, bool is_copy) {
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
static int read_descriptors(struct ext4_scan *scan, uint64_t index, struct ext4_group *groups,
                            uint64_t count) {
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

int ext4_read_groups(struct ext4_scan *scan, uint64_t first, uint64_t count) {
    const struct ext4 *fs = &scan->fs;
    uint64_t each = fs->descriptors_per_block;
    struct extents list = {0};
    int failure = 0;
    for (uint64_t group = first; group < first + count && failure == 0; group += each) {
        failure = ext4_expect(scan, &list, ext4_descriptor_block(fs, group / each));
    }
    source_expect(fs->source, &list);
    for (uint64_t done = 0; done < count && failure == 0; done += each) {
        uint64_t here = count - done < each ? count - done : each;
        failure = read_descriptors(scan, (first + done) / each, scan->groups + done, here);
    }
    return failure == -ENOMEM ? refuse(scan, "out of memory") : failure;
}

int ext4_add_group(struct ext4_scan *scan, uint64_t number, const struct ext4_group *group) {
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

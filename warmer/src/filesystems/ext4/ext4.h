#ifndef WARMER_EXT4_H
#define WARMER_EXT4_H

/** What the files that read ext4 share. Nobody else includes this. */
#include "base/diag.h"
#include "filesystems/source.h"
#include "filesystems/used.h"

#include <stdbool.h>
#include <stdint.h>

#define EXT4_MAX_BLOCK_BYTES 65536u

/** Copies of metadata blocks that lie in the journal and are not in their place yet. */
struct ext4_journal_copy {
    uint64_t block;  /**< Where it belongs. */
    uint64_t copy;   /**< Where it lies in the journal; both are blocks of the file system. */
    bool is_escaped; /**< Its first four bytes were changed, because they looked like the journal's own. */
};

struct ext4_copies {
    struct ext4_journal_copy *items; /**< By block. */
    size_t length;
    size_t capacity;
};

/** The superblock, checked. */
struct ext4 {
    const struct source *source;
    uint64_t blocks;
    uint64_t groups;
    uint64_t reserved_descriptor_blocks;
    uint64_t inode_table_blocks;
    uint32_t block_bytes;
    uint32_t cluster_bytes;
    uint32_t first_data_block;
    uint32_t blocks_per_group;
    uint32_t inodes_per_group;
    uint32_t inode_bytes;
    uint32_t descriptor_bytes;
    uint32_t descriptors_per_block;
    uint32_t first_meta_group;
    uint32_t journal_inode;
    uint32_t backup_groups[2]; /**< Of sparse_super2. */
    bool has_meta_groups;
    bool has_checksums; /**< Of group descriptors: only then their "uninit" flags mean anything. */
    bool is_sparse, is_sparse2;
    bool needs_recovery;
    struct ext4_copies copies; /**< Empty unless the journal needs recovery. */
};

/** One group's descriptor. */
struct ext4_group {
    uint64_t block_bitmap;
    uint64_t inode_bitmap;
    uint64_t inode_table;
    uint32_t free_clusters;
    uint32_t unused_inodes;
    bool has_no_block_bitmap; /**< Nothing is allocated in it but metadata. */
    bool has_no_inodes;
};

/** Read and check the superblock; 1 if it is one, 0 if there is none, -1 with the reason. */
int ext4_open(struct ext4 *fs, const struct source *source, struct diag *diag);

/** Free what the journal's copies take. */
void ext4_close(struct ext4 *fs);

/** Where descriptor block `index` lies. */
uint64_t ext4_descriptor_block(const struct ext4 *fs, uint64_t index);

/** Does this group begin with a copy of the superblock? */
bool ext4_has_superblock(const struct ext4 *fs, uint64_t group);

/** Blocks at a group's beginning that copies of the superblock and of descriptors may take. */
uint64_t ext4_leading_blocks(const struct ext4 *fs, uint64_t group);

/** The first block of a group, and how many it has. */
uint64_t ext4_group_start(const struct ext4 *fs, uint64_t group);
uint64_t ext4_group_blocks(const struct ext4 *fs, uint64_t group);

/** Decode a descriptor. */
struct ext4_group ext4_decode_group(const struct ext4 *fs, const uint8_t *descriptor);

/** Read a block of the file system from its place; 0 or -errno. */
int ext4_read_block(const struct ext4 *fs, uint64_t block, uint8_t *buffer);

/** The blocks that the journal lies in, in its order; 0, or -1 with the reason. The caller clears the list.
 */
int ext4_find_journal(const struct ext4 *fs, struct extents *pieces, struct diag *diag);

/** Find the copies in the journal; 0, or -1 with the reason. */
int ext4_read_journal(struct ext4 *fs, struct diag *diag);

/** The first of the copies of a block, and how many there are. */
const struct ext4_journal_copy *ext4_find_copies(const struct ext4 *fs, uint64_t block, size_t *count);

/** Read one copy as it was before it was put in the journal; 0 or -errno. */
int ext4_read_copy(const struct ext4 *fs, const struct ext4_journal_copy *copy, uint8_t *buffer);

/** Groups looked at together, so that a cold device fetches what is read of them together. */
#define EXT4_BATCH_GROUPS 16384u

/** A file system being gone through, group by group. */
struct ext4_scan {
    struct ext4 fs;
    struct used *used;
    struct ext4_group *groups; /**< Of one batch. */
    uint8_t *block;            /**< A block being looked at. */
    struct diag *diag;
};

/** Open, and make room; 1 if it is ext4, 0 if not, -1 with the reason. Closed with ext4_end in any case. */
int ext4_begin(struct ext4_scan *scan, const struct source *source);

/** Free what the scan takes. */
void ext4_end(struct ext4_scan *scan);

/** How many groups one batch has: whole descriptor blocks. */
uint64_t ext4_batch(const struct ext4_scan *scan);

/** Announce a block; 0 or -ENOMEM. */
int ext4_expect(struct ext4_scan *scan, struct extents *list, uint64_t block);

/** The descriptors of `count` groups from `first`, which begins a descriptor block. */
int ext4_read_groups(struct ext4_scan *scan, uint64_t first, uint64_t count);

/** Where a group's metadata lies; all of it within the file system. */
int ext4_add_group(struct ext4_scan *scan, uint64_t number, const struct ext4_group *group);

#endif

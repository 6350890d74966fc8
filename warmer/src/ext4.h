#ifndef WARMER_EXT4_H
#define WARMER_EXT4_H

/** What ext4_used.c, ext4_layout.c and ext4_journal.c share. Nobody else includes this. */
#include "diag.h"
#include "source.h"

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

/** Find the copies in the journal; 0, or -1 with the reason. */
int ext4_read_journal(struct ext4 *fs, struct diag *diag);

/** The first of the copies of a block, and how many there are. */
const struct ext4_journal_copy *ext4_find_copies(const struct ext4 *fs, uint64_t block, size_t *count);

/** Read one copy as it was before it was put in the journal; 0 or -errno. */
int ext4_read_copy(const struct ext4 *fs, const struct ext4_journal_copy *copy, uint8_t *buffer);

#endif

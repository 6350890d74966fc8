#ifndef WARMER_EXT4_H
#define WARMER_EXT4_H

/** What the files that read ext4 share. No other file includes this. */
#include "base/diag.h"
#include "filesystems/source.h"
#include "filesystems/used.h"

#include <stdbool.h>
#include <stdint.h>

#define EXT4_MAX_BLOCK_BYTES 65536u
#define EXT4_MAGIC 0xef53u
#define EXT4_SUPER_OFFSET 1024u
#define EXT4_SUPER_BYTES 1024u

/** A copy in the journal of a metadata block that is not written to its place yet. */
struct ext4_journal_copy {
    uint64_t block;  /**< Where the block belongs, as a block of the file system. */
    uint64_t copy;   /**< Where the copy lies, as a block of the file system. */
    uint32_t rank;   /**< How many copies come before it in the log. */
    bool is_escaped; /**< Its first four bytes were replaced, because they were the journal's magic number. */
};

/** All copies that the journal holds. */
struct ext4_copies {
    struct ext4_journal_copy *items; /**< Sorted by block, then by rank. */
    size_t length;
    size_t finished; /**< Copies of a lower rank than this are of finished transactions. */
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
    uint64_t most_log_blocks;  /**< How much of the log is gone over; 0: all of it. */
    bool has_meta_groups;
    bool has_checksums; /**< Group descriptors have checksums; only then their "uninit" flags are valid. */
    bool is_sparse, is_sparse2;
    bool needs_recovery;
    struct ext4_copies copies; /**< Empty unless the journal needs recovery. */
};

/** The descriptor of one block group. */
struct ext4_group {
    uint64_t block_bitmap;
    uint64_t inode_bitmap;
    uint64_t inode_table;
    uint32_t free_clusters;
    uint32_t unused_inodes;
    bool has_no_block_bitmap; /**< Only metadata is allocated in the group. */
    bool has_no_inodes;
};

/** Read and check the superblock. Returns 1 if it is ext4, 0 if it is not, -1 with the reason if it is
 * damaged. */
int ext4_open(struct ext4 *fs, const struct source *source, struct diag *diag);

/** The same for a superblock that was read, of `fs->source`; all other members of `fs` are zero. */
int ext4_decode_super(struct ext4 *fs, const uint8_t *super, struct diag *diag);

/**
 * Check the other superblocks: those that wait in the journal, and some of the copies that lie far apart.
 * They must describe the same file system. Returns 0, or -1 with the reason.
 */
int ext4_check_supers(const struct ext4 *fs, struct diag *diag);

/** Free the list of the journal's copies. */
void ext4_close(struct ext4 *fs);

/** The block at which descriptor block `index` lies. */
uint64_t ext4_descriptor_block(const struct ext4 *fs, uint64_t index);

/** Whether this group begins with a copy of the superblock. */
bool ext4_has_superblock(const struct ext4 *fs, uint64_t group);

/** The blocks at the beginning of a group that copies of the superblock and the descriptors may take. */
uint64_t ext4_leading_blocks(const struct ext4 *fs, uint64_t group);

/** The first block of a group, and the number of its blocks. */
uint64_t ext4_group_start(const struct ext4 *fs, uint64_t group);
uint64_t ext4_group_blocks(const struct ext4 *fs, uint64_t group);

/** Decode a group descriptor. */
struct ext4_group ext4_decode_group(const struct ext4 *fs, const uint8_t *descriptor);

/** Read a block of the file system from its place, without the journal. Returns 0 or -errno. */
int ext4_read_block(const struct ext4 *fs, uint64_t block, uint8_t *buffer);

/** List the journal's blocks in its order; the caller clears the list. Returns 0, or -1 with the reason. */
int ext4_find_journal(const struct ext4 *fs, struct extents *pieces, struct diag *diag);

/** Find the copies in the journal. Returns 0, or -1 with the reason. */
int ext4_read_journal(struct ext4 *fs, struct diag *diag);

/** The copies of a block: returns the first one and sets `count`. */
const struct ext4_journal_copy *ext4_find_copies(const struct ext4 *fs, uint64_t block, size_t *count);

/** Read one copy as it was before it was written to the journal. Returns 0 or -errno. */
int ext4_read_copy(const struct ext4 *fs, const struct ext4_journal_copy *copy, uint8_t *buffer);

/** The number of groups read together, so that a cold device fetches their blocks together. */
#define EXT4_BATCH_GROUPS 16384u

/** A scan through the groups of a file system. */
struct ext4_scan {
    struct ext4 fs;
    struct used *used;
    struct ext4_group *groups; /**< The groups of one batch. */
    uint8_t *block;            /**< The block that was read last. */
    struct diag *diag;
};

/**
 * Open the file system and allocate the scan. Returns 1 if it is ext4, 0 if it is not, -1 with the reason.
 * The caller ends the scan in every case.
 */
int ext4_begin(struct ext4_scan *scan, const struct source *source);

/** Free the memory of the scan. */
void ext4_end(struct ext4_scan *scan);

/** The number of groups of one batch, which fill whole descriptor blocks. */
uint64_t ext4_batch(const struct ext4_scan *scan);

/** Append a block to the list of blocks to announce. Returns 0 or -ENOMEM. */
int ext4_expect(struct ext4_scan *scan, struct extents *list, uint64_t block);

/** Read the descriptors of `count` groups from `first`, which begins a descriptor block. Returns 0 or -1. */
int ext4_read_groups(struct ext4_scan *scan, uint64_t first, uint64_t count);

/** Add the metadata of a group. Returns 0, or -1 if a part of it lies outside the file system. */
int ext4_add_group(struct ext4_scan *scan, uint64_t number, const struct ext4_group *group);

#endif

#ifndef WARMER_XFS_H
#define WARMER_XFS_H

/** What the files that read XFS share. Nobody else includes this. */
#include "base/diag.h"
#include "filesystems/source.h"

#include <stdbool.h>
#include <stdint.h>

#define XFS_MAX_BLOCK_BYTES 65536u

/** The superblock, checked. */
struct xfs {
    const struct source *source;
    uint64_t blocks;
    uint64_t log_offset; /**< In bytes; the log is in one piece. */
    uint64_t log_bytes;
    uint32_t block_bytes;
    uint32_t sector_bytes;
    uint32_t group_blocks;
    uint32_t groups;
    uint64_t root_inode;
    uint32_t inode_bits;       /**< An inode has so many bytes, as a power of two. */
    uint32_t block_inode_bits; /**< A block has so many inodes, as a power of two. */
    uint32_t group_bits;       /**< Of an inode's number: above those of its block. */
    bool is_v5;
};

/** Read and check the superblock; 1 if it is one, 0 if there is none, -1 with the reason. */
int xfs_open(struct xfs *fs, const struct source *source, struct diag *diag);

/** Where a block of an allocation group lies, in bytes. */
uint64_t xfs_byte_of(const struct xfs *fs, uint64_t group, uint64_t block);

/** How many blocks a group has. */
uint32_t xfs_group_blocks(const struct xfs *fs, uint32_t group);

/** A group begins with its superblock, headers, and the roots of the trees, which mkfs puts behind them. */
uint64_t xfs_leading_bytes(const struct xfs *fs);

/** 0 if nothing of the log has to be replayed, else -1 with the reason. */
int xfs_check_log(const struct xfs *fs, struct diag *diag);

#endif

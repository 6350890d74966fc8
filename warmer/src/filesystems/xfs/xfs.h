#ifndef WARMER_XFS_H
#define WARMER_XFS_H

/** What the files that read XFS share. No other file includes this. */
#include "base/diag.h"
#include "filesystems/source.h"

#include <stdbool.h>
#include <stdint.h>

#define XFS_MAX_BLOCK_BYTES 65536u

/** The superblock, checked. */
struct xfs {
    const struct source *source;
    uint64_t blocks;
    uint64_t log_offset; /**< In bytes. The log is contiguous. */
    uint64_t log_bytes;
    uint32_t block_bytes;
    uint32_t sector_bytes;
    uint32_t group_blocks;
    uint32_t groups;
    uint64_t root_inode;
    uint32_t inode_bits;       /**< The base-2 logarithm of an inode's bytes. */
    uint32_t block_inode_bits; /**< The base-2 logarithm of the inodes in a block. */
    uint32_t group_bits;       /**< The bits of a block's number within its group. */
    bool is_v5;
};

/** Read and check the superblock. Returns 1 if it is XFS, 0 if it is not, -1 with the reason if it is
 * damaged. */
int xfs_open(struct xfs *fs, const struct source *source, struct diag *diag);

/** The byte of the source at which a block of an allocation group lies. */
uint64_t xfs_byte_of(const struct xfs *fs, uint64_t group, uint64_t block);

/** The number of blocks of a group. */
uint32_t xfs_group_blocks(const struct xfs *fs, uint32_t group);

/** The bytes at the beginning of a group: superblock, headers, and the roots of the trees that mkfs puts
 * there. */
uint64_t xfs_leading_bytes(const struct xfs *fs);

/** Returns 0 if nothing in the log has to be replayed, or -1 with the reason. */
int xfs_check_log(const struct xfs *fs, struct diag *diag);

#endif

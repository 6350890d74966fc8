#ifndef WARMER_XFS_H
#define WARMER_XFS_H

/** What xfs_used.c and xfs_log.c share. Nobody else includes this. */
#include "diag.h"
#include "source.h"

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
    bool is_v5;
};

/** 0 if nothing of the log has to be replayed, else -1 with the reason. */
int xfs_check_log(const struct xfs *fs, struct diag *diag);

#endif

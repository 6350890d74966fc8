/**
 * Where an XFS file system has what, from its superblock (XFS Algorithms & Data Structures, "Superblocks").
 *
 * A feature that is not listed here may move or add structures: then nothing that the superblock says is
 * used.
 */
#include "base/bytes.h"
#include "filesystems/xfs/xfs.h"

#define SUPER_BYTES 512u
#define MAGIC_SUPER 0x58465342u
/** 64 TiB in groups of 16 MiB, the smallest there are. */
#define MAX_GROUPS (1u << 22)
/** ftype sparse-inodes meta-uuid bigtime nrext64 exchange parent; with needsrepair nothing is certain. */
#define INCOMPAT_UNDERSTOOD 0xefu

static int refuse(struct diag *diag, const char *reason) {
    return diag_refuse(diag, -1, "xfs: %s", reason);
}

static bool is_power_of_two(uint64_t value) {
    return value != 0 && (value & (value - 1)) == 0;
}

/** Numbers that fit each other and the partition. */
static int check_super(struct xfs *fs, const uint8_t *super, struct diag *diag) {
    uint64_t log_start = big64(super + 48);
    uint64_t log_blocks = big32(super + 96);
    uint32_t shift = super[124];
    bool sizes = is_power_of_two(fs->block_bytes) && fs->block_bytes >= 512 &&
                 fs->block_bytes <= XFS_MAX_BLOCK_BYTES && is_power_of_two(fs->sector_bytes) &&
                 fs->sector_bytes >= 512 && fs->sector_bytes <= fs->block_bytes * 8 && shift < 32;
    if (!sizes || fs->groups == 0 || fs->groups > MAX_GROUPS || fs->group_blocks < 64) {
        return refuse(diag, "its superblock contradicts itself");
    }
    uint64_t before = (uint64_t)(fs->groups - 1) * fs->group_blocks;
    if (fs->blocks <= before || fs->blocks - before > fs->group_blocks ||
        fs->blocks > fs->source->bytes / fs->block_bytes) {
        return refuse(diag, "it is larger than what holds it");
    }
    uint64_t log_block = log_start >> shift;
    log_block = log_block * fs->group_blocks + (log_start & ((UINT64_C(1) << shift) - 1));
    if (log_start == 0) {
        return refuse(diag, "its log is on another device");
    }
    if (log_start >> shift >= fs->groups || log_blocks == 0 || log_block > fs->blocks ||
        log_blocks > fs->blocks - log_block) {
        return refuse(diag, "its log lies outside");
    }
    fs->log_offset = log_block * fs->block_bytes;
    fs->log_bytes = log_blocks * fs->block_bytes;
    fs->root_inode = big64(super + 56);
    fs->inode_bits = super[122];
    fs->block_inode_bits = super[123];
    fs->group_bits = shift;
    return 0;
}

int xfs_open(struct xfs *fs, const struct source *source, struct diag *diag) {
    uint8_t super[SUPER_BYTES];
    if (source_read(source, 0, super, sizeof super) != 0 || big32(super) != MAGIC_SUPER) {
        return 0;
    }
    uint32_t version = big16(super + 100) & 0xfu;
    *fs = (struct xfs){.source = source,
                       .blocks = big64(super + 8),
                       .block_bytes = big32(super + 4),
                       .sector_bytes = big16(super + 102),
                       .group_blocks = big32(super + 84),
                       .groups = big32(super + 88),
                       .is_v5 = version == 5};
    bool is_known = version == 4 || (version == 5 && (big32(super + 216) & ~INCOMPAT_UNDERSTOOD) == 0);
    if (!is_known || super[126] != 0) {
        return refuse(diag, "it has features that are not known here, needs repair or is being made");
    }
    return check_super(fs, super, diag) == 0 ? 1 : -1;
}

uint64_t xfs_byte_of(const struct xfs *fs, uint64_t group, uint64_t block) {
    return (group * fs->group_blocks + block) * fs->block_bytes;
}

uint32_t xfs_group_blocks(const struct xfs *fs, uint32_t group) {
    uint64_t blocks = fs->blocks - (uint64_t)group * fs->group_blocks;
    return (uint32_t)(blocks < fs->group_blocks ? blocks : fs->group_blocks);
}

uint64_t xfs_leading_bytes(const struct xfs *fs) {
    return 4 * (uint64_t)fs->sector_bytes + 8 * (uint64_t)fs->block_bytes;
}

/**
 * Where an ext4 file system has what, from its superblock (kernel.org, "ext4 Data Structures and
 * Algorithms").
 *
 * A feature that is not listed here may move or add structures: then nothing that the superblock says is
 * used.
 */
#include "base/bytes.h"
#include "filesystems/ext4/ext4.h"

#include <errno.h>

/** sparse_super2; all other compatible features leave the layout alone. */
#define COMPAT_SPARSE_SUPER2 0x200u
#define INCOMPAT_RECOVER 0x4u
#define INCOMPAT_META_BG 0x10u
#define INCOMPAT_64BIT 0x80u
/** filetype recover meta_bg extents 64bit mmp flex_bg ea_inode dirdata csum_seed largedir inline encrypt
 * casefold */
#define INCOMPAT_UNDERSTOOD 0x3f7d6u
#define RO_COMPAT_SPARSE_SUPER 0x1u
#define RO_COMPAT_GDT_CSUM 0x10u
#define RO_COMPAT_BIGALLOC 0x200u
#define RO_COMPAT_METADATA_CSUM 0x400u
/** sparse large_file btree_dir huge_file gdt_csum dir_nlink extra_isize quota bigalloc metadata_csum readonly
 * project verity orphan_present */
#define RO_COMPAT_UNDERSTOOD 0x1b77fu

#define STATE_CLEAN 1u
#define STATE_ERRORS 2u

/** A 64 TiB volume of 1 KiB blocks has half as many groups. */
#define MAX_GROUPS (UINT64_C(1) << 24)

#define GROUP_INODE_UNINIT 1u
#define GROUP_BLOCK_UNINIT 2u

static int refuse(struct diag *diag, const char *reason) {
    return diag_refuse(diag, -1, "ext4: %s", reason);
}

static bool is_power_of(uint64_t value, uint64_t base) {
    while (value > 1 && value % base == 0) {
        value /= base;
    }
    return value == 1;
}

bool ext4_has_superblock(const struct ext4 *fs, uint64_t group) {
    if (group == 0) {
        return true;
    }
    if (fs->is_sparse2) {
        return group == fs->backup_groups[0] || group == fs->backup_groups[1];
    }
    if (group == 1 || !fs->is_sparse) {
        return true;
    }
    return is_power_of(group, 3) || is_power_of(group, 5) || is_power_of(group, 7);
}

uint64_t ext4_leading_blocks(const struct ext4 *fs, uint64_t group) {
    uint64_t each = fs->descriptors_per_block;
    uint64_t super = ext4_has_superblock(fs, group) ? 1 : 0;
    if (fs->has_meta_groups && group / each >= fs->first_meta_group) {
        /* The first, the second and the last group of a meta group hold a copy of its descriptors. */
        uint64_t within = group % each;
        return super + (within <= 1 || within == each - 1 ? 1 : 0);
    }
    return super * (2 + fs->groups / each + 1 + fs->reserved_descriptor_blocks);
}

uint64_t ext4_group_start(const struct ext4 *fs, uint64_t group) {
    return fs->first_data_block + group * fs->blocks_per_group;
}

uint64_t ext4_group_blocks(const struct ext4 *fs, uint64_t group) {
    uint64_t rest = fs->blocks - ext4_group_start(fs, group);
    return rest < fs->blocks_per_group ? rest : fs->blocks_per_group;
}

uint64_t ext4_descriptor_block(const struct ext4 *fs, uint64_t index) {
    /* With 1 KiB blocks and bigalloc the first group begins at block 0, and the superblock is block 1. */
    uint64_t shift = fs->block_bytes == 1024 && fs->first_data_block == 0 ? 1 : 0;
    if (!fs->has_meta_groups || index < fs->first_meta_group) {
        return fs->first_data_block + shift + 1 + index;
    }
    uint64_t group = index * fs->descriptors_per_block;
    return ext4_group_start(fs, group) + (ext4_has_superblock(fs, group) ? 1 : 0) + (group == 0 ? shift : 0);
}

/** Features that change what is read below. */
static int take_features(struct ext4 *fs, const uint8_t *super, struct diag *diag) {
    uint32_t compat = little32(super + 0x5c);
    uint32_t incompat = little32(super + 0x60);
    uint32_t ro_compat = little32(super + 0x64);
    if ((incompat & ~INCOMPAT_UNDERSTOOD) != 0 || (ro_compat & ~RO_COMPAT_UNDERSTOOD) != 0) {
        return refuse(diag, "it has features that are not known here");
    }
    uint32_t state = little16(super + 0x3a);
    if ((state & STATE_CLEAN) == 0 || (state & STATE_ERRORS) != 0) {
        return refuse(diag, "it was not unmounted cleanly or has errors");
    }
    bool is_64bit = (incompat & INCOMPAT_64BIT) != 0;
    fs->descriptor_bytes = is_64bit ? little16(super + 0xfe) : 32;
    fs->blocks = little32(super + 0x4) | (is_64bit ? (uint64_t)little32(super + 0x150) << 32 : 0);
    fs->needs_recovery = (incompat & INCOMPAT_RECOVER) != 0;
    fs->has_meta_groups = (incompat & INCOMPAT_META_BG) != 0;
    fs->has_checksums = (ro_compat & (RO_COMPAT_GDT_CSUM | RO_COMPAT_METADATA_CSUM)) != 0;
    fs->is_sparse = (ro_compat & RO_COMPAT_SPARSE_SUPER) != 0;
    fs->is_sparse2 = (compat & COMPAT_SPARSE_SUPER2) != 0;
    uint32_t cluster_shift = little32(super + 0x1c);
    bool has_clusters = (ro_compat & RO_COMPAT_BIGALLOC) != 0;
    if (has_clusters && cluster_shift > 20) {
        return refuse(diag, "its cluster size is out of range");
    }
    fs->cluster_bytes = has_clusters ? 1024u << cluster_shift : fs->block_bytes;
    return 0;
}

static void take_fields(struct ext4 *fs, const uint8_t *super) {
    bool has_sizes = little32(super + 0x4c) >= 1;
    fs->first_data_block = little32(super + 0x14);
    fs->blocks_per_group = little32(super + 0x20);
    fs->inodes_per_group = little32(super + 0x28);
    fs->inode_bytes = has_sizes ? little16(super + 0x58) : 128;
    fs->reserved_descriptor_blocks = little16(super + 0xce);
    fs->first_meta_group = little32(super + 0x104);
    fs->journal_inode = little32(super + 0xe0);
    fs->backup_groups[0] = little32(super + 0x24c);
    fs->backup_groups[1] = little32(super + 0x250);
}

/** Numbers that fit each other and the partition. */
static int check_sizes(struct ext4 *fs, const uint8_t *super, struct diag *diag) {
    uint32_t clusters_per_group = little32(super + 0x24);
    uint64_t bits = (uint64_t)fs->block_bytes * 8;
    uint32_t ratio = fs->cluster_bytes / fs->block_bytes;
    bool descriptors = fs->descriptor_bytes >= 32 && fs->descriptor_bytes <= fs->block_bytes &&
                       is_power_of(fs->descriptor_bytes, 2);
    bool groups = ratio > 0 && fs->blocks_per_group >= 256 && fs->blocks_per_group / ratio <= bits &&
                  fs->blocks_per_group % 8 == 0 &&
                  (ratio == 1 || clusters_per_group * (uint64_t)ratio == fs->blocks_per_group) &&
                  fs->blocks_per_group % ratio == 0;
    bool inodes = fs->inodes_per_group > 0 && fs->inodes_per_group <= bits && fs->inode_bytes >= 128 &&
                  fs->inode_bytes <= fs->block_bytes && is_power_of(fs->inode_bytes, 2);
    if (!descriptors || !groups || !inodes || fs->first_data_block > 1) {
        return refuse(diag, "its superblock contradicts itself");
    }
    if (fs->blocks <= fs->first_data_block || fs->blocks > fs->source->bytes / fs->block_bytes) {
        return refuse(diag, "it is larger than what holds it");
    }
    uint64_t blocks = fs->blocks - fs->first_data_block;
    fs->groups = blocks / fs->blocks_per_group + (blocks % fs->blocks_per_group != 0);
    fs->descriptors_per_block = fs->block_bytes / fs->descriptor_bytes;
    uint64_t table_bytes = (uint64_t)fs->inodes_per_group * fs->inode_bytes;
    fs->inode_table_blocks = table_bytes / fs->block_bytes + (table_bytes % fs->block_bytes != 0);
    return fs->groups <= MAX_GROUPS ? 0 : refuse(diag, "it has too many groups");
}

int ext4_decode_super(struct ext4 *fs, const uint8_t *super, struct diag *diag) {
    if (little16(super + 0x38) != EXT4_MAGIC) {
        return 0;
    }
    uint32_t shift = little32(super + 0x18);
    if (shift > 6) {
        return refuse(diag, "its block size is out of range");
    }
    fs->block_bytes = 1024u << shift;
    int failure = take_features(fs, super, diag);
    if (failure == 0) {
        take_fields(fs, super);
        failure = check_sizes(fs, super, diag);
    }
    return failure == 0 ? 1 : failure;
}

int ext4_open(struct ext4 *fs, const struct source *source, struct diag *diag) {
    uint8_t super[EXT4_SUPER_BYTES];
    *fs = (struct ext4){.source = source};
    return source_read(source, EXT4_SUPER_OFFSET, super, sizeof super) == 0
               ? ext4_decode_super(fs, super, diag)
               : 0;
}

struct ext4_group ext4_decode_group(const struct ext4 *fs, const uint8_t *descriptor) {
    bool is_wide = fs->descriptor_bytes >= 64;
    uint16_t flags = fs->has_checksums ? little16(descriptor + 0x12) : 0;
    struct ext4_group group = {
        .block_bitmap = little32(descriptor),
        .inode_bitmap = little32(descriptor + 0x4),
        .inode_table = little32(descriptor + 0x8),
        .free_clusters =
            little16(descriptor + 0xc) | (is_wide ? (uint32_t)little16(descriptor + 0x2c) << 16 : 0),
        .unused_inodes = fs->has_checksums ? little16(descriptor + 0x1c) : 0,
        .has_no_block_bitmap = (flags & GROUP_BLOCK_UNINIT) != 0,
        .has_no_inodes = (flags & GROUP_INODE_UNINIT) != 0,
    };
    if (is_wide) {
        group.block_bitmap |= (uint64_t)little32(descriptor + 0x20) << 32;
        group.inode_bitmap |= (uint64_t)little32(descriptor + 0x24) << 32;
        group.inode_table |= (uint64_t)little32(descriptor + 0x28) << 32;
        group.unused_inodes |= fs->has_checksums ? (uint32_t)little16(descriptor + 0x32) << 16 : 0;
    }
    return group;
}

int ext4_read_block(const struct ext4 *fs, uint64_t block, uint8_t *buffer) {
    if (block >= fs->blocks) {
        return -ERANGE;
    }
    return source_read(fs->source, block * fs->block_bytes, buffer, fs->block_bytes);
}

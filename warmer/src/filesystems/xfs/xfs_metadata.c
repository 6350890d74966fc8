/**
 * Where an XFS file system keeps its own structures: its log, the root directory's inodes, and of each
 * allocation group the headers and the roots of the inodes' B+trees. Only superblock and inode headers are
 * read.
 */
#include "filesystems/xfs/xfs.h"

#include "base/bytes.h"
#include "filesystems/used.h"

#define MAGIC_AGI 0x58414749u
#define AGI_BYTES 336u
#define CHUNK_INODES 64u
/** With more groups than this their headers are not read: it would take long. */
#define FEW_GROUPS 1024u
/** So many groups come first at most. */
#define MOST_GROUPS 65536u

static void add_block(const struct xfs *fs, struct used *used, uint32_t group, uint32_t block) {
    if (block < xfs_group_blocks(fs, group)) {
        used_add_metadata(used, fs->source, xfs_byte_of(fs, group, block), fs->block_bytes);
    }
}

/** The first inodes: those of the root directory and of what was made next. */
static void add_root_inodes(const struct xfs *fs, struct used *used) {
    uint32_t bits = fs->block_inode_bits;
    if (bits > 12 || fs->inode_bits > 16 || fs->group_bits + bits > 63) {
        return;
    }
    uint64_t group = fs->root_inode >> (fs->group_bits + bits);
    uint64_t block = fs->root_inode >> bits & ((UINT64_C(1) << fs->group_bits) - 1);
    if (group < fs->groups && block < xfs_group_blocks(fs, (uint32_t)group)) {
        used_add_metadata(used, fs->source, xfs_byte_of(fs, group, block),
                          (uint64_t)CHUNK_INODES << fs->inode_bits);
    }
}

static uint64_t header_of(const struct xfs *fs, uint32_t group) {
    return xfs_byte_of(fs, group, 0) + 2 * (uint64_t)fs->sector_bytes;
}

/** The roots of the trees of inodes; a header that is damaged names none. */
static void add_trees(const struct xfs *fs, struct used *used) {
    struct extents list = {0};
    uint8_t header[AGI_BYTES];
    for (uint32_t i = 0; i < fs->groups; i++) {
        if (extents_append(&list, header_of(fs, i), sizeof header) != 0) {
            break;
        }
    }
    source_expect(fs->source, &list);
    for (uint32_t i = 0; i < fs->groups; i++) {
        if (source_read(fs->source, header_of(fs, i), header, sizeof header) == 0 &&
            big32(header) == MAGIC_AGI && big32(header + 8) == i) {
            add_block(fs, used, i, big32(header + 20));
            add_block(fs, used, i, fs->is_v5 ? big32(header + 328) : 0);
        }
    }
}

enum used_answer xfs_find_metadata(const struct source *source, struct used *used, struct diag *diag) {
    struct xfs fs;
    int known = xfs_open(&fs, source, diag);
    if (known <= 0) {
        return known == 0 ? USED_UNKNOWN : USED_REFUSED;
    }
    for (uint32_t i = 0; i < fs.groups && i < MOST_GROUPS; i++) {
        used_add_metadata(used, source, xfs_byte_of(&fs, i, 0), xfs_leading_bytes(&fs));
    }
    used_add_metadata(used, source, fs.log_offset, fs.log_bytes);
    add_root_inodes(&fs, used);
    if (fs.groups <= FEW_GROUPS) {
        add_trees(&fs, used);
    }
    return USED_KNOWN;
}

/**
 * The files of an XFS file system: its inodes, and the extents of a file (XFS Algorithms & Data Structures,
 * "On-disk Inode" and "Data Extents"). The log is not followed, so what was changed in the last seconds
 * before a snapshot of a mounted file system may be missing.
 */
#include "filesystems/xfs/xfs_tree.h"

#include "base/bytes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SUPER_BYTES 512u
#define MAGIC_INODE 0x494eu
#define MAGIC_MAP 0x424d4150u
#define MAGIC_MAP_V5 0x424d4133u
#define INODE_BYTES_V2 100u
#define INODE_BYTES_V3 176u
#define MODE_MASK 0xf000u
#define MODE_DIRECTORY 0x4000u
#define MODE_FILE 0x8000u
#define FORMAT_EXTENTS 2u
#define FORMAT_TREE 3u
#define FLAG2_BIGTIME 0x8u
#define FLAG2_MANY_EXTENTS 0x10u
#define BIGTIME_EPOCH (INT64_C(1) << 31)
#define FEATURE2_KINDS 0x200u
#define INCOMPAT_KINDS 0x1u
#define HEADER_BYTES 24u
#define HEADER_BYTES_V5 72u
#define EXTENT_BYTES 16u
#define MAX_LEVELS 9u

uint64_t xfs_tree_byte_of(const struct xfs *fs, uint64_t block) {
    uint64_t group = block >> fs->group_bits;
    uint64_t within = block & ((UINT64_C(1) << fs->group_bits) - 1);
    if (group >= fs->groups || within >= xfs_group_blocks(fs, (uint32_t)group)) {
        return UINT64_MAX;
    }
    return xfs_byte_of(fs, group, within);
}

static void close_tree(struct tree *tree) {
    struct xfs_state *state = tree->state;
    if (state != NULL) {
        free(state->block);
        free(state);
    }
    tree->state = NULL;
}

static int open_tree(struct tree *tree, const struct source *source) {
    struct diag diag = {{0}};
    uint8_t super[SUPER_BYTES];
    struct xfs_state *state = calloc(1, sizeof *state);
    tree->state = state;
    if (state == NULL) {
        return -1;
    }
    struct xfs *fs = &state->fs;
    int known = xfs_open(fs, source, &diag);
    if (known <= 0) {
        return known;
    }
    if (source_read(source, 0, super, sizeof super) != 0 || fs->inode_bits < 8 || fs->inode_bits > 11 ||
        fs->group_bits + fs->block_inode_bits > 48 || super[192] > 16 ||
        (uint64_t)fs->block_bytes << super[192] > XFS_MAX_BLOCK_BYTES ||
        (uint64_t)1 << (fs->inode_bits + fs->block_inode_bits) != fs->block_bytes) {
        return -1;
    }
    state->inode_bytes = 1u << fs->inode_bits;
    state->block_inodes = 1u << fs->block_inode_bits;
    state->has_kinds =
        fs->is_v5 ? (big32(super + 216) & INCOMPAT_KINDS) != 0 : (big32(super + 200) & FEATURE2_KINDS) != 0;
    state->block = malloc(fs->block_bytes);
    tree->root = fs->root_inode;
    tree->directory_block_bytes = fs->block_bytes << super[192];
    return state->block != NULL ? 1 : -1;
}

static void locate(struct tree *tree, struct tree_inode *inodes, size_t count) {
    const struct xfs_state *state = tree->state;
    const struct xfs *fs = &state->fs;
    struct extents list = {0};
    for (size_t i = 0; i < count; i++) {
        uint64_t at = xfs_tree_byte_of(fs, inodes[i].number >> fs->block_inode_bits);
        inodes[i].at = at;
        if (at != UINT64_MAX) {
            inodes[i].at = at + (inodes[i].number & (state->block_inodes - 1)) * state->inode_bytes;
            (void)extents_append(&list, inodes[i].at, state->inode_bytes);
        }
    }
    source_expect(fs->source, &list);
}

static int64_t time_of(const uint8_t *raw, bool is_bigtime) {
    uint64_t nanoseconds = big64(raw);
    return is_bigtime ? (int64_t)(nanoseconds / 1000000000u) - BIGTIME_EPOCH : (int32_t)big32(raw);
}

void xfs_tree_decode(const struct xfs_state *state, const uint8_t *raw, struct tree_inode *inode) {
    uint32_t mode = big16(raw + 2);
    uint32_t version = raw[4];
    uint32_t header = version >= 3 ? INODE_BYTES_V3 : INODE_BYTES_V2;
    uint64_t flags2 = version >= 3 ? big64(raw + 120) : 0;
    uint32_t fork = raw[82] == 0 ? state->inode_bytes - header : raw[82] * 8u;
    bool is_bigtime = (flags2 & FLAG2_BIGTIME) != 0;
    uint64_t extents = (flags2 & FLAG2_MANY_EXTENTS) != 0 ? big64(raw + 24) : big32(raw + 76);
    if (big16(raw) != MAGIC_INODE || version < 2 || version > 3 || mode == 0 || big32(raw + 16) == 0 ||
        fork > state->inode_bytes - header || big64(raw + 56) > INT64_MAX) {
        return;
    }
    inode->is_good = true;
    inode->is_directory = (mode & MODE_MASK) == MODE_DIRECTORY;
    inode->is_file = (mode & MODE_MASK) == MODE_FILE;
    inode->bytes = big64(raw + 56);
    inode->content_changed = time_of(raw + 40, is_bigtime);
    inode->inode_changed = time_of(raw + 48, is_bigtime);
    inode->format = raw[5];
    inode->extents = extents < UINT32_MAX ? (uint32_t)extents : UINT32_MAX;
    inode->fork_bytes = fork;
    memcpy(inode->fork, raw + header, fork);
}

static void read_inode(struct tree *tree, struct tree_inode *inode) {
    const struct xfs_state *state = tree->state;
    uint8_t raw[TREE_FORK_BYTES];
    if (source_read(tree->source, inode->at, raw, state->inode_bytes) == 0) {
        xfs_tree_decode(state, raw, inode);
    }
}

static int read_metadata(const struct tree *tree, uint64_t at, void *buffer, size_t length) {
    return source_read(tree->source, at, buffer, length);
}

static void announce(const struct tree *tree, struct extents *list) {
    source_expect(tree->source, list);
}

/** A walk through a file's tree of extents. */
struct walk {
    struct tree *tree;
    const struct xfs *fs;
    struct tree_runs *runs;
    unsigned nodes; /**< How many may still be read. */
};

/** Extents: 1 bit unwritten, 54 bits offset, 52 bits block, 21 bits count. */
static int take_extents(struct walk *walk, const uint8_t *records, uint32_t count) {
    const struct xfs *fs = walk->fs;
    int failure = 0;
    for (uint32_t i = 0; i < count && failure == 0; i++) {
        uint64_t high = big64(records + (size_t)i * EXTENT_BYTES);
        uint64_t low = big64(records + (size_t)i * EXTENT_BYTES + 8);
        uint64_t offset = high >> 9 & ((UINT64_C(1) << 54) - 1);
        uint64_t length = low & ((1u << 21) - 1);
        uint64_t block = (high & 0x1ff) << 43 | low >> 21;
        uint64_t at = xfs_tree_byte_of(fs, block);
        uint64_t rest = xfs_group_blocks(fs, (uint32_t)(at == UINT64_MAX ? 0 : block >> fs->group_bits)) -
                        (block & ((UINT64_C(1) << fs->group_bits) - 1));
        if (at == UINT64_MAX || length == 0 || length > rest || offset > INT64_MAX / fs->block_bytes) {
            return -EIO;
        }
        bool is_written = high >> 63 == 0;
        failure = !is_written
                      ? 0
                      : tree_add_run(walk->runs, offset * fs->block_bytes, at, length * fs->block_bytes);
    }
    return failure;
}

static int take_pointers(struct walk *walk, const uint8_t *pointers, uint32_t count, unsigned level);

/** A node of the tree, which must be `level` above the leaves. */
static int take_node(struct walk *walk, uint64_t block, unsigned level) {
    const struct xfs *fs = walk->fs;
    uint32_t header = fs->is_v5 ? HEADER_BYTES_V5 : HEADER_BYTES;
    uint64_t at = xfs_tree_byte_of(fs, block);
    if (at == UINT64_MAX || walk->nodes == 0) {
        return -EIO;
    }
    walk->nodes--;
    uint8_t *node = malloc(fs->block_bytes);
    int failure = node == NULL ? -ENOMEM : source_read(fs->source, at, node, fs->block_bytes);
    if (failure == 0) {
        uint32_t room = (fs->block_bytes - header) / EXTENT_BYTES;
        uint32_t count = big16(node + 6);
        if (big32(node) != (fs->is_v5 ? MAGIC_MAP_V5 : MAGIC_MAP) || big16(node + 4) != level ||
            count > room) {
            failure = -EIO;
        } else {
            failure = level == 0 ? take_extents(walk, node + header, count)
                                 : take_pointers(walk, node + header + (size_t)room * 8, count, level - 1);
        }
    }
    free(node);
    return failure;
}

/** The nodes of one level below another. */
static int take_pointers(struct walk *walk, const uint8_t *pointers, uint32_t count, unsigned level) {
    struct extents list = {0};
    int failure = 0;
    for (uint32_t i = 0; i < count && i < walk->nodes && count > 1; i++) {
        uint64_t at = xfs_tree_byte_of(walk->fs, big64(pointers + (size_t)i * 8));
        if (at != UINT64_MAX) {
            (void)extents_append(&list, at, walk->fs->block_bytes);
        }
    }
    source_expect(walk->fs->source, &list);
    for (uint32_t i = 0; i < count && failure == 0; i++) {
        failure = take_node(walk, big64(pointers + (size_t)i * 8), level);
    }
    return failure;
}

int xfs_tree_map(struct tree *tree, const struct tree_inode *inode, struct tree_runs *runs) {
    const struct xfs_state *state = tree->state;
    struct walk walk = {.tree = tree, .fs = &state->fs, .runs = runs, .nodes = TREE_NODES};
    if (inode->format == FORMAT_EXTENTS) {
        bool is_good = inode->extents <= inode->fork_bytes / EXTENT_BYTES;
        return is_good ? take_extents(&walk, inode->fork, inode->extents) : -EIO;
    }
    if (inode->format != FORMAT_TREE || inode->fork_bytes < 4) {
        return -ENOTSUP;
    }
    uint32_t room = (inode->fork_bytes - 4) / EXTENT_BYTES;
    uint32_t level = big16(inode->fork);
    uint32_t count = big16(inode->fork + 2);
    if (level == 0 || level > MAX_LEVELS || count > room) {
        return -EIO;
    }
    return take_pointers(&walk, inode->fork + 4 + (size_t)room * 8, count, level - 1);
}

const struct tree_ops xfs_tree = {.name = "xfs",
                                  .open = open_tree,
                                  .close = close_tree,
                                  .locate = locate,
                                  .read_inode = read_inode,
                                  .map = xfs_tree_map,
                                  .read = read_metadata,
                                  .announce = announce,
                                  .inline_names = xfs_tree_inline_names,
                                  .block_names = xfs_tree_block_names,
                                  .each_inode = xfs_tree_each_inode};

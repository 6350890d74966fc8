/** The blocks of an ext4 journal, from its inode (kernel.org, "ext4 Data Structures and Algorithms"). */
#include "base/bytes.h"
#include "filesystems/ext4/ext4.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define INODE_BLOCK_OFFSET 0x28u
#define INODE_BLOCK_BYTES 60u
#define INODE_USES_EXTENTS 0x80000u
#define EXTENT_MAGIC 0xf30au
#define EXTENT_BYTES 12u
#define MAX_EXTENT_DEPTH 5u
/** More pieces than a journal ever lies in. */
#define MAX_PIECES 4096u

struct walk {
    const struct ext4 *fs;
    struct extents *pieces;
    uint64_t length; /**< Blocks in pieces. */
    struct diag *diag;
};

static int refuse(struct walk *walk, const char *reason) {
    return diag_refuse(walk->diag, -1, "%s", reason);
}

static int take_extents(struct walk *walk, const uint8_t *node, uint32_t node_bytes, unsigned depth);

/** One entry of an extent tree's node: a run of blocks, or a node further down. */
static int take_entry(struct walk *walk, const uint8_t *entry, unsigned depth) {
    const struct ext4 *fs = walk->fs;
    if (depth == 0) {
        uint64_t count = little16(entry + 4);
        uint64_t start = (uint64_t)little16(entry + 6) << 32 | little32(entry + 8);
        bool is_good = count > 0 && count <= 32768 && little32(entry) == walk->length && start < fs->blocks &&
                       count <= fs->blocks - start && walk->pieces->length < MAX_PIECES;
        if (!is_good || extents_append(walk->pieces, start, count) != 0) {
            return refuse(walk, "its inode is damaged");
        }
        walk->length += count;
        return 0;
    }
    uint8_t *below = malloc(fs->block_bytes);
    uint64_t block = (uint64_t)little16(entry + 8) << 32 | little32(entry + 4);
    int failure = below == NULL ? -ENOMEM : ext4_read_block(fs, block, below);
    failure = failure != 0 ? refuse(walk, "its inode cannot be read")
                           : take_extents(walk, below, fs->block_bytes, depth - 1);
    free(below);
    return failure;
}

/** A node of an extent tree, which must be `depth` above the leaves. */
static int take_extents(struct walk *walk, const uint8_t *node, uint32_t node_bytes, unsigned depth) {
    uint32_t entries = little16(node + 2);
    if (little16(node) != EXTENT_MAGIC || little16(node + 6) != depth || entries == 0 ||
        entries > (node_bytes - EXTENT_BYTES) / EXTENT_BYTES) {
        return refuse(walk, "its inode is damaged");
    }
    int failure = 0;
    for (uint32_t i = 0; i < entries && failure == 0; i++) {
        failure = take_entry(walk, node + EXTENT_BYTES * (i + 1), depth);
    }
    return failure;
}

/** Read the block that holds the journal's inode; where in it that is. */
static int read_inode(struct walk *walk, uint8_t *block, uint64_t *within) {
    const struct ext4 *fs = walk->fs;
    uint64_t number = (uint64_t)fs->journal_inode - 1;
    uint64_t group = number / fs->inodes_per_group;
    if (fs->journal_inode == 0 || group >= fs->groups) {
        return refuse(walk, "it is on another device");
    }
    uint64_t descriptor_block = ext4_descriptor_block(fs, group / fs->descriptors_per_block);
    if (ext4_read_block(fs, descriptor_block, block) != 0) {
        return refuse(walk, "its inode cannot be read");
    }
    uint64_t descriptor = group % fs->descriptors_per_block * fs->descriptor_bytes;
    uint64_t table = ext4_decode_group(fs, block + descriptor).inode_table;
    uint64_t offset = number % fs->inodes_per_group * fs->inode_bytes;
    if (table >= fs->blocks || ext4_read_block(fs, table + offset / fs->block_bytes, block) != 0) {
        return refuse(walk, "its inode cannot be read");
    }
    *within = offset % fs->block_bytes;
    return 0;
}

/** The inode's tree of extents, from its root on. */
static int take_root(struct walk *walk, const uint8_t *inode) {
    const uint8_t *root = inode + INODE_BLOCK_OFFSET;
    unsigned depth = little16(root + 6);
    if ((little32(inode + 0x20) & INODE_USES_EXTENTS) == 0 || depth > MAX_EXTENT_DEPTH) {
        return refuse(walk, "its inode is of an old kind");
    }
    return take_extents(walk, root, INODE_BLOCK_BYTES, depth);
}

int ext4_find_journal(const struct ext4 *fs, struct extents *pieces, struct diag *diag) {
    struct walk walk = {.fs = fs, .pieces = pieces, .diag = diag};
    uint64_t within = 0;
    uint8_t *block = malloc(fs->block_bytes);
    int failure = block == NULL ? refuse(&walk, "memory is short") : read_inode(&walk, block, &within);
    if (failure == 0) {
        failure = take_root(&walk, block + within);
    }
    free(block);
    return failure;
}

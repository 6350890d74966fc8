/**
 * All inodes of an XFS file system, by the trees of its allocation groups (XFS Algorithms & Data Structures,
 * "Inode B+trees"): records of 64 inodes, with a bit for each that is free.
 */
#include "filesystems/xfs/xfs_tree.h"

#include "base/bytes.h"

#include <stdlib.h>

#define MAGIC_AGI 0x58414749u
#define AGI_BYTES 32u
#define MAGIC_TREE 0x49414254u
#define MAGIC_TREE_V5 0x49414233u
#define HEADER_BYTES 16u
#define HEADER_BYTES_V5 56u
#define RECORD_BYTES 16u
#define CHUNK_INODES 64u
#define MAX_LEVELS 9u
/** So many records are announced together: 2 MiB of inodes of 512 bytes. */
#define BATCH_CHUNKS 64u

/** Inodes that lie together, and which of them are free. */
struct chunk {
    uint64_t at;
    uint64_t first;
    uint64_t free;
};

struct scan {
    struct tree *tree;
    const struct xfs_state *state;
    tree_inode_hook *take;
    void *context;
    uint64_t left; /**< Bytes that may still be read. */
    bool wants_more;
    uint8_t *inodes;
    struct chunk chunks[BATCH_CHUNKS];
    size_t count;
};

static void spend(struct scan *scan, uint64_t bytes) {
    scan->left -= bytes < scan->left ? bytes : scan->left;
}

static bool may_go_on(const struct scan *scan) {
    return scan->wants_more && scan->left > 0;
}

static void take_chunk(struct scan *scan, const struct chunk *chunk) {
    const struct xfs_state *state = scan->state;
    struct tree_inode inode;
    if (source_read(scan->tree->source, chunk->at, scan->inodes, (size_t)CHUNK_INODES * state->inode_bytes) !=
        0) {
        return;
    }
    for (uint32_t i = 0; i < CHUNK_INODES && scan->wants_more; i++) {
        if ((chunk->free >> i & 1) == 0) {
            inode.number = chunk->first + i;
            inode.at = chunk->at + (uint64_t)i * state->inode_bytes;
            inode.is_good = false;
            xfs_tree_decode(state, scan->inodes + (size_t)i * state->inode_bytes, &inode);
            scan->wants_more = !inode.is_good || scan->take(scan->context, &inode);
        }
    }
}

/** Announce and take what is gathered. */
static void take_chunks(struct scan *scan) {
    struct extents list = {0};
    for (size_t i = 0; i < scan->count; i++) {
        (void)extents_append(&list, scan->chunks[i].at, (uint64_t)CHUNK_INODES * scan->state->inode_bytes);
    }
    source_expect(scan->tree->source, &list);
    for (size_t i = 0; i < scan->count && scan->wants_more; i++) {
        take_chunk(scan, &scan->chunks[i]);
    }
    scan->count = 0;
}

/** Gather the chunk of a record. Parts of it that are no inodes count as free. */
static void take_record(struct scan *scan, uint32_t group, const uint8_t *record) {
    const struct xfs *fs = &scan->state->fs;
    uint64_t first = big32(record);
    uint64_t bytes = (uint64_t)CHUNK_INODES * scan->state->inode_bytes;
    uint64_t block = first >> fs->block_inode_bits;
    uint64_t within = (first & (scan->state->block_inodes - 1)) * scan->state->inode_bytes;
    uint64_t end = (uint64_t)xfs_group_blocks(fs, group) * fs->block_bytes;
    if (first % CHUNK_INODES != 0 || block * fs->block_bytes + within + bytes > end) {
        return;
    }
    scan->chunks[scan->count++] =
        (struct chunk){.at = xfs_byte_of(fs, group, block) + within,
                       .first = (uint64_t)group << (fs->group_bits + fs->block_inode_bits) | first,
                       .free = big64(record + 8)};
    spend(scan, bytes);
    if (scan->count == BATCH_CHUNKS) {
        take_chunks(scan);
    }
}

/** Follow the leaves to the right. A leaf costs as much as it has bytes, so a circle has an end. */
static void take_leaves(struct scan *scan, uint32_t group, uint32_t block) {
    const struct xfs_state *state = scan->state;
    const struct xfs *fs = &state->fs;
    uint32_t header = fs->is_v5 ? HEADER_BYTES_V5 : HEADER_BYTES;
    while (block < xfs_group_blocks(fs, group) && may_go_on(scan)) {
        spend(scan, fs->block_bytes);
        if (source_read(fs->source, xfs_byte_of(fs, group, block), state->block, fs->block_bytes) != 0) {
            return;
        }
        uint32_t records = big16(state->block + 6);
        if (big32(state->block) != (fs->is_v5 ? MAGIC_TREE_V5 : MAGIC_TREE) || big16(state->block + 4) != 0 ||
            records > (fs->block_bytes - header) / RECORD_BYTES) {
            return;
        }
        for (uint32_t i = 0; i < records && may_go_on(scan); i++) {
            take_record(scan, group, state->block + header + (size_t)i * RECORD_BYTES);
        }
        block = big32(state->block + 12);
    }
}

/** The leftmost leaf of a tree, or UINT32_MAX. */
static uint32_t first_leaf(struct scan *scan, uint32_t group, uint32_t block, uint32_t levels) {
    const struct xfs_state *state = scan->state;
    const struct xfs *fs = &state->fs;
    uint32_t header = fs->is_v5 ? HEADER_BYTES_V5 : HEADER_BYTES;
    uint32_t room = (fs->block_bytes - header) / 8;
    for (uint32_t level = levels - 1; level > 0; level--) {
        if (block >= xfs_group_blocks(fs, group) ||
            source_read(fs->source, xfs_byte_of(fs, group, block), state->block, fs->block_bytes) != 0 ||
            big32(state->block) != (fs->is_v5 ? MAGIC_TREE_V5 : MAGIC_TREE) ||
            big16(state->block + 4) != level || big16(state->block + 6) == 0) {
            return UINT32_MAX;
        }
        spend(scan, fs->block_bytes);
        block = big32(state->block + header + (size_t)room * 4);
    }
    return block;
}

static void take_group(struct scan *scan, uint32_t group) {
    const struct xfs *fs = &scan->state->fs;
    uint8_t header[AGI_BYTES];
    uint64_t at = xfs_byte_of(fs, group, 0) + 2 * (uint64_t)fs->sector_bytes;
    spend(scan, sizeof header);
    if (source_read(fs->source, at, header, sizeof header) != 0 || big32(header) != MAGIC_AGI ||
        big32(header + 8) != group) {
        return;
    }
    uint32_t levels = big32(header + 24);
    if (levels > 0 && levels <= MAX_LEVELS) {
        take_leaves(scan, group, first_leaf(scan, group, big32(header + 20), levels));
    }
}

void xfs_tree_each_inode(struct tree *tree, uint64_t most_bytes, tree_inode_hook *take, void *context) {
    const struct xfs_state *state = tree->state;
    struct scan *scan = malloc(sizeof *scan);
    if (scan == NULL) {
        return;
    }
    *scan = (struct scan){.tree = tree,
                          .state = state,
                          .take = take,
                          .context = context,
                          .left = most_bytes,
                          .wants_more = true,
                          .inodes = malloc((size_t)CHUNK_INODES * state->inode_bytes)};
    for (uint32_t group = 0; scan->inodes != NULL && group < state->fs.groups && may_go_on(scan); group++) {
        take_group(scan, group);
    }
    if (scan->inodes != NULL) {
        take_chunks(scan);
    }
    free(scan->inodes);
    free(scan);
}

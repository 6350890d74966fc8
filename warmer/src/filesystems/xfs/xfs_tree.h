#ifndef WARMER_XFS_TREE_H
#define WARMER_XFS_TREE_H

/** What the files that read XFS's files share. No other file includes this. */
#include "filesystems/tree.h"
#include "filesystems/xfs/xfs.h"

struct xfs_state {
    struct xfs fs;
    uint32_t inode_bytes;
    uint32_t block_inodes;
    bool has_kinds; /**< Entries of directories say what they are. */
    uint8_t *block; /**< A node of a tree of inodes. */
};

/** The byte of a block of the whole file system, UINT64_MAX if there is none. */
uint64_t xfs_tree_byte_of(const struct xfs *fs, uint64_t block);

/** Decode an inode of `bytes`; is_good stays false if no inode in use is there. */
void xfs_tree_decode(const struct xfs_state *state, const uint8_t *raw, struct tree_inode *inode);

/** What each is for, tree.h says. */
int xfs_tree_map(struct tree *tree, const struct tree_inode *inode, struct tree_runs *runs);
bool xfs_tree_inline_names(const struct tree *tree, const struct tree_inode *inode, tree_name_hook *take,
                           void *context);
bool xfs_tree_block_names(const struct tree *tree, const uint8_t *block, tree_name_hook *take, void *context);
void xfs_tree_each_inode(struct tree *tree, uint64_t most_bytes, tree_inode_hook *take, void *context);

#endif

#ifndef WARMER_TREE_H
#define WARMER_TREE_H

#include "filesystems/source.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * The files of a file system: their names, times and places on the device.
 *
 * Only the order of reads depends on what is found. So a structure that is damaged ends what it belongs to,
 * nothing is repaired, and every count is bounded here whatever the file system says.
 */
struct tree;

/** The largest data fork of an inode: XFS's, in an inode of 2 KiB. */
#define TREE_FORK_BYTES 2048u

/** So many bytes of a directory are read, and of all of them, however often they name each other. */
#define TREE_DIRECTORY_BYTES (UINT64_C(8) << 20)
#define TREE_DIRECTORIES_BYTES (UINT64_C(64) << 20)

/** So many nodes of a file's tree of extents are read, and so many runs of it are kept. */
#define TREE_NODES 4096u
#define TREE_RUNS 65536u

/** An inode, as far as it is used here. */
struct tree_inode {
    uint64_t number; /**< Set by the caller of tree_read_inodes. */
    uint64_t at;     /**< Its first byte in the source. */
    uint64_t bytes;
    int64_t content_changed; /**< Seconds since 1970. */
    int64_t inode_changed;
    bool is_good; /**< It was read and is in use. */
    bool is_directory, is_file;
    uint32_t format; /**< How the fork says where the content is; the file system's own number. */
    uint32_t extents;
    uint32_t fork_bytes;
    uint8_t fork[TREE_FORK_BYTES];
};

/** A part of a file: `bytes` from `offset` of the file on lie from byte `at` of the source on. */
struct tree_run {
    uint64_t offset;
    uint64_t at;
    uint64_t bytes;
};

/** The written parts of a file, ascending by offset; holes are left out. Zero-initialise it before use. */
struct tree_runs {
    struct tree_run *items;
    size_t length;
    size_t capacity;
};

/** What a directory says of an entry; not every directory says it. */
enum tree_kind { TREE_UNKNOWN, TREE_FILE, TREE_DIRECTORY, TREE_OTHER };

/** An entry of a directory. The name is not terminated. */
struct tree_name {
    const char *text;
    size_t length;
    uint64_t inode;
    enum tree_kind kind;
};

/** Receives an entry, without "." and "..". Returns whether more are wanted. */
typedef bool tree_name_hook(void *context, const struct tree_name *name);

/** Receives an inode in use. Returns whether more are wanted. */
typedef bool tree_inode_hook(void *context, const struct tree_inode *inode);

/** What one kind of file system does. Each function but `open` is called on an open tree only. */
struct tree_ops {
    const char *name;
    /** Returns 1 if it is this file system, 0 if it is not, or -1 if it cannot be used. */
    int (*open)(struct tree *tree, const struct source *source);
    void (*close)(struct tree *tree);
    /** Set `at` of the inodes, UINT64_MAX where there is none, and announce them. */
    void (*locate)(struct tree *tree, struct tree_inode *inodes, size_t count);
    /** Decode the inode at `at`. */
    void (*read_inode)(struct tree *tree, struct tree_inode *inode);
    /** Append the runs of a file. Returns 0 or -errno; what was appended before an error is good. */
    int (*map)(struct tree *tree, const struct tree_inode *inode, struct tree_runs *runs);
    /** Read bytes of metadata, in their newest version. Returns 0 or -errno. */
    int (*read)(const struct tree *tree, uint64_t at, void *buffer, size_t length);
    /** Announce bytes that are read next, and empty the list. */
    void (*announce)(const struct tree *tree, struct extents *list);
    /** Give the entries of a directory that lies in its inode; false if it lies in blocks. */
    bool (*inline_names)(const struct tree *tree, const struct tree_inode *inode, tree_name_hook *take,
                         void *context);
    /** Give the entries of one block of a directory; false once no more are wanted. */
    bool (*block_names)(const struct tree *tree, const uint8_t *block, tree_name_hook *take, void *context);
    /** Give inodes in use, reading at most `most_bytes` of their tables. */
    void (*each_inode)(struct tree *tree, uint64_t most_bytes, tree_inode_hook *take, void *context);
};

/** An open file system. */
struct tree {
    const struct tree_ops *ops;
    const struct source *source; /**< It must outlive the tree. */
    void *state;
    uint64_t root; /**< The inode of the root directory. */
    uint32_t directory_block_bytes;
    int64_t written;        /**< When the superblock was written, or 0 if it does not say. */
    uint64_t names_bytes;   /**< How much of directories was read. */
    uint64_t journal_bytes; /**< How much of a journal may be read; set before it is opened. */
};

extern const struct tree_ops ext4_tree, xfs_tree;

/**
 * Open the file system of a partition, of which at most `journal_bytes` of the journal are read. Returns
 * whether there is one that is understood. The caller closes the tree in every case.
 */
bool tree_open(struct tree *tree, const struct source *source, uint64_t journal_bytes);

/** Free what the tree holds. */
void tree_close(struct tree *tree);

/** Read the inodes whose numbers are set, together; those that are not good have is_good false. */
void tree_read_inodes(struct tree *tree, struct tree_inode *inodes, size_t count);

/** Announce the bytes of these runs before `limit` of the file. `list` is emptied by tree_announce. */
void tree_expect(struct extents *list, const struct tree_runs *runs, uint64_t limit);
void tree_announce(const struct tree *tree, struct extents *list);

/** Read `length` bytes at `offset` of a file's content; holes are zeros. Returns 0 or -errno. */
int tree_read_content(const struct tree *tree, const struct tree_runs *runs, uint64_t offset, void *buffer,
                      size_t length);

/** Give the entries of a directory. */
void tree_names(struct tree *tree, const struct tree_inode *directory, const struct tree_runs *runs,
                tree_name_hook *take, void *context);

/** The run that holds `offset`, or the next one; `runs->length` if there is none. */
size_t tree_find_run(const struct tree_runs *runs, uint64_t offset);

/** Append a run. Returns 0, -ENOMEM, -E2BIG beyond TREE_RUNS, or -EIO if it does not follow the last one. */
int tree_add_run(struct tree_runs *runs, uint64_t offset, uint64_t at, uint64_t bytes);

/** Free the runs and leave none. */
void tree_clear_runs(struct tree_runs *runs);

#endif

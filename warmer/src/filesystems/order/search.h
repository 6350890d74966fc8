#ifndef WARMER_ORDER_SEARCH_H
#define WARMER_ORDER_SEARCH_H

/** What the files of this folder share. No other file includes this. */
#include "filesystems/order/order.h"
#include "filesystems/tree.h"

#include <stdbool.h>

/** So many file systems of a device are searched, and so many data directories of each are known. */
#define SEARCH_PARTS 8u
#define SEARCH_DATA 8u

/** Inodes that are read together. */
#define SEARCH_BATCH 64u

/** Numbers that grow. Zero-initialise it before use. */
struct numbers {
    uint64_t *items;
    size_t length;
    size_t capacity;
};

/** Append a number. Returns 0 or -ENOMEM. */
int numbers_append(struct numbers *numbers, uint64_t number);

/** Free the memory and leave none. */
void numbers_clear(struct numbers *numbers);

/** Names by which the data directory of a database is known, and what is used of it. */
enum data_name {
    PG_VERSION,
    PG_BASE,
    PG_GLOBAL,
    PG_WAL,
    PG_XLOG,
    PG_LIST,
    INNODB_SYSTEM,
    INNODB_LIST,
    INNODB_REDO,
    INNODB_LOG_0,
    INNODB_LOG_1,
    DATA_NAMES
};

/** A directory of a database. */
struct data_directory {
    uint64_t number;            /**< Its inode. */
    uint64_t names[DATA_NAMES]; /**< Inodes of its entries, 0 for none. */
};

/** One file system of the device. */
struct part {
    struct source source;
    struct tree tree;
    int64_t newest; /**< The newest time that was seen in it. */
    struct data_directory data[SEARCH_DATA];
    size_t data_count;
};

/** One search of a device. */
struct search {
    const struct order_limits *limits;
    struct order *order;
    struct block_set *taken; /**< Blocks that are listed, or come earlier anyway. */
    struct extents *later;   /**< Where blocks are put off to; NULL: they are listed at once. */
    struct order_set *set;   /**< What is being listed; NULL if it is not reported. */
    uint64_t room;           /**< How many blocks may still be listed. */
    uint64_t looks;          /**< How many blocks may still be looked at. */
    struct part parts[SEARCH_PARTS];
    size_t part_count;
};

/** Whether no more blocks can be listed. */
bool search_is_full(const struct search *search);

/** Begin a set; `changed` is ORDER_AGELESS where nothing has an age. */
void search_begin_set(struct search *search, enum order_source source, const char *what, int64_t changed);

/** List the blocks of a part of a file. */
void search_add(struct search *search, const struct part *part, const struct tree_runs *runs, uint64_t offset,
                uint64_t bytes);

/** List the blocks that were put off, and clear them. */
void search_add_later(struct search *search, struct extents *later);

/** Receives a file or directory that was read. Returns whether more are wanted. */
typedef bool search_visit(void *context, size_t index, const struct tree_inode *inode,
                          const struct tree_runs *runs);

/**
 * Read inodes and their runs, some at a time, and the first `content_bytes` of each, which are announced.
 * Those that cannot be read are left out.
 */
void search_each(struct part *part, const struct numbers *inodes, uint64_t content_bytes, search_visit *visit,
                 void *context);

/** Give the entries of a directory. */
void search_names(struct part *part, uint64_t directory, tree_name_hook *take, void *context);

/** Find the data directories of databases. */
void search_walk(struct part *part);

/** Receives the numbers of a line. Returns whether more are wanted. */
typedef bool search_take_line(void *context, const uint32_t *fields);

/**
 * Begin the set `what` with a database's list, and read it unless it is too old to say anything: a text of
 * lines of `count` decimal numbers with commas between, after a first line in <> or without. What is not such
 * a line ends it.
 */
void search_read_list(struct search *search, struct part *part, const char *what,
                      const struct tree_inode *inode, const struct tree_runs *runs, unsigned count,
                      search_take_line *take, void *context);

/** The most bytes of a list that are read. */
#define SEARCH_LIST_BYTES (UINT64_C(16) << 20)

/** List what a database's own list names, its log's files, and what was changed in the last day. */
void search_postgres_list(struct search *search, struct part *part, const struct data_directory *data);
void search_innodb_list(struct search *search, struct part *part, const struct data_directory *data);
void search_logs(struct search *search, struct part *part, const struct data_directory *data);
void search_recent(struct search *search, struct part *part);

#endif

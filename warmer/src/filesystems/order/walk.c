/**
 * Finds the data directories of databases: directory by directory, those near the root first. Programs and
 * system files come last, because no database keeps its data there and there are many of them.
 */
#include "filesystems/order/search.h"

#include <stdlib.h>
#include <string.h>

/** So many directories are read, and so many of their names are looked at. */
#define MOST_DIRECTORIES 4096u
#define MOST_NAMES (1u << 20)

static const char *const data_names[DATA_NAMES] = {
    [PG_VERSION] = "PG_VERSION",    [PG_BASE] = "base",
    [PG_GLOBAL] = "global",         [PG_WAL] = "pg_wal",
    [PG_XLOG] = "pg_xlog",          [PG_LIST] = "autoprewarm.blocks",
    [INNODB_SYSTEM] = "ibdata1",    [INNODB_LIST] = "ib_buffer_pool",
    [INNODB_REDO] = "#innodb_redo", [INNODB_LOG_0] = "ib_logfile0",
    [INNODB_LOG_1] = "ib_logfile1",
};

static const char *const late_names[] = {"bin",  "boot", "dev",  "etc",  "lib", "lib32", "lib64",
                                         "proc", "run",  "sbin", "snap", "sys", "tmp",   "usr"};

/** Copies of whole systems, one for each layer of a container. */
static const char *const layer_names[] = {"overlay2", "snapshots"};

/** Directories that are to be read: those of the first list before those of the second. */
struct walk {
    struct part *part;
    struct numbers queues[2];
    size_t heads[2];
    unsigned directories, names; /**< How many may still be read. */
    bool is_root;
    unsigned queue;             /**< From which list the directories being read are. */
    struct data_directory seen; /**< What the directory being read has. */
    struct numbers children[2];
};

static bool is_name(const struct tree_name *name, const char *text) {
    return name->length == strlen(text) && memcmp(name->text, text, name->length) == 0;
}

static bool is_one_of(const struct tree_name *name, const char *const *names, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (is_name(name, names[i])) {
            return true;
        }
    }
    return false;
}

static bool is_late(const struct walk *walk, const struct tree_name *name) {
    return is_one_of(name, layer_names, sizeof layer_names / sizeof layer_names[0]) ||
           (walk->is_root && is_one_of(name, late_names, sizeof late_names / sizeof late_names[0]));
}

static bool take_name(void *context, const struct tree_name *name) {
    struct walk *walk = context;
    if (walk->names == 0) {
        return false;
    }
    walk->names--;
    for (size_t i = 0; i < DATA_NAMES; i++) {
        if (is_name(name, data_names[i])) {
            walk->seen.names[i] = name->inode;
        }
    }
    if (name->kind == TREE_DIRECTORY || name->kind == TREE_UNKNOWN) {
        unsigned queue = is_late(walk, name) ? 1 : walk->queue;
        (void)numbers_append(&walk->children[queue], name->inode);
    }
    return true;
}

/** Is it a database's, of which nothing below is looked at by name? */
static bool is_data(const struct data_directory *seen) {
    const uint64_t *names = seen->names;
    bool is_postgres = names[PG_VERSION] != 0 && names[PG_BASE] != 0 && names[PG_GLOBAL] != 0;
    return is_postgres || names[INNODB_SYSTEM] != 0 || names[INNODB_REDO] != 0 || names[INNODB_LOG_0] != 0;
}

static bool take_directory(void *context, size_t index, const struct tree_inode *inode,
                           const struct tree_runs *runs) {
    struct walk *walk = context;
    struct part *part = walk->part;
    (void)index;
    if (!inode->is_directory) {
        return true;
    }
    walk->seen = (struct data_directory){.number = inode->number};
    walk->is_root = inode->number == part->tree.root;
    walk->children[0].length = walk->children[1].length = 0;
    tree_names(&part->tree, inode, runs, take_name, walk);
    if (is_data(&walk->seen)) {
        if (part->data_count < SEARCH_DATA) {
            part->data[part->data_count++] = walk->seen;
        }
        return part->data_count < SEARCH_DATA;
    }
    for (unsigned queue = 0; queue < 2; queue++) {
        for (size_t i = 0; i < walk->children[queue].length; i++) {
            if (walk->queues[queue].length < MOST_DIRECTORIES) {
                (void)numbers_append(&walk->queues[queue], walk->children[queue].items[i]);
            }
        }
    }
    return true;
}

/** The next directories, some at a time; none when all are read or the limit is met. */
static struct numbers next_batch(struct walk *walk) {
    for (unsigned queue = 0; queue < 2; queue++) {
        size_t left = walk->queues[queue].length - walk->heads[queue];
        left = left < walk->directories ? left : walk->directories;
        left = left < SEARCH_BATCH ? left : SEARCH_BATCH;
        if (left > 0) {
            struct numbers batch = {0};
            for (size_t i = 0; i < left; i++) {
                (void)numbers_append(&batch, walk->queues[queue].items[walk->heads[queue] + i]);
            }
            walk->heads[queue] += left;
            walk->directories -= (unsigned)left;
            walk->queue = queue;
            return batch;
        }
    }
    return (struct numbers){0};
}

void search_walk(struct part *part) {
    struct walk walk = {.part = part, .directories = MOST_DIRECTORIES, .names = MOST_NAMES};
    (void)numbers_append(&walk.queues[0], part->tree.root);
    for (struct numbers batch = next_batch(&walk); batch.length > 0; batch = next_batch(&walk)) {
        search_each(part, &batch, TREE_DIRECTORY_BYTES, take_directory, &walk);
        numbers_clear(&batch);
        if (part->data_count == SEARCH_DATA || walk.names == 0) {
            break;
        }
    }
    for (unsigned queue = 0; queue < 2; queue++) {
        numbers_clear(&walk.queues[queue]);
        numbers_clear(&walk.children[queue]);
    }
}

/** Write-ahead logs, and files that were changed in the last day: those changed last first. */
#include "filesystems/order/search.h"

#include <stdlib.h>

#define DAY_SECONDS INT64_C(86400)
#define MOST_LOG_FILES 4096u
#define MOST_RECENT 65536u
/** Of a larger file its beginning and its end are listed, where formats keep their roots and logs grow. */
#define WHOLE_BYTES (UINT64_C(64) << 20)
#define BEGINNING_BYTES (UINT64_C(16) << 20)

/** A file and when it was changed. */
struct changed {
    int64_t when;
    uint64_t inode;
};

/** Files to be listed. */
struct changes {
    struct search *search;
    struct part *part;
    struct changed *items;
    size_t length, most;
    struct numbers inodes; /**< In the order of listing. */
    bool is_whole;         /**< Files of any size are listed whole. */
};

static int newest_first(const void *left, const void *right) {
    const struct changed *a = left;
    const struct changed *b = right;
    if (a->when != b->when) {
        return a->when < b->when ? 1 : -1;
    }
    return (a->inode > b->inode) - (a->inode < b->inode);
}

static int64_t changed_at(const struct tree_inode *inode) {
    return inode->content_changed > inode->inode_changed ? inode->content_changed : inode->inode_changed;
}

static bool add_file(void *context, size_t index, const struct tree_inode *inode,
                     const struct tree_runs *runs) {
    struct changes *changes = context;
    (void)index;
    if (!inode->is_file) {
        return true;
    }
    if (changes->is_whole || inode->bytes <= WHOLE_BYTES) {
        search_add(changes->search, changes->part, runs, 0, inode->bytes);
    } else {
        uint64_t end_bytes = WHOLE_BYTES - BEGINNING_BYTES;
        search_add(changes->search, changes->part, runs, 0, BEGINNING_BYTES);
        search_add(changes->search, changes->part, runs, inode->bytes - end_bytes, end_bytes);
    }
    return !search_is_full(changes->search);
}

/** Sort, leave out what was changed before `since`, and list the rest. */
static void add_files(struct changes *changes, int64_t since) {
    if (changes->length > 1) {
        qsort(changes->items, changes->length, sizeof *changes->items, newest_first);
    }
    for (size_t i = 0; i < changes->length && changes->items[i].when >= since; i++) {
        (void)numbers_append(&changes->inodes, changes->items[i].inode);
    }
    search_each(changes->part, &changes->inodes, 0, add_file, changes);
    numbers_clear(&changes->inodes);
}

static bool take_log_name(void *context, const struct tree_name *name) {
    struct changes *changes = context;
    if (name->kind == TREE_FILE || name->kind == TREE_UNKNOWN) {
        (void)numbers_append(&changes->inodes, name->inode);
    }
    return changes->inodes.length < changes->most;
}

static bool take_log_time(void *context, size_t index, const struct tree_inode *inode,
                          const struct tree_runs *runs) {
    struct changes *changes = context;
    (void)index;
    (void)runs;
    if (inode->is_file) {
        changes->items[changes->length++] = (struct changed){inode->content_changed, inode->number};
    }
    return true;
}

/** The files whose inodes are gathered, the newest first. */
static void add_logs(struct changes *changes, const char *what) {
    changes->length = 0;
    search_each(changes->part, &changes->inodes, 0, take_log_time, changes);
    numbers_clear(&changes->inodes);
    int64_t newest = ORDER_AGELESS;
    for (size_t i = 0; i < changes->length; i++) {
        newest = changes->items[i].when > newest ? changes->items[i].when : newest;
    }
    if (changes->length > 0) {
        search_begin_set(changes->search, ORDER_LOGS, what, newest);
        add_files(changes, INT64_MIN);
    }
}

static void add_log_directory(struct changes *changes, uint64_t directory, const char *what) {
    if (directory != 0) {
        search_names(changes->part, directory, take_log_name, changes);
        add_logs(changes, what);
    }
}

void search_logs(struct search *search, struct part *part, const struct data_directory *data) {
    struct changes changes = {.search = search, .part = part, .most = MOST_LOG_FILES, .is_whole = true};
    changes.items = malloc(MOST_LOG_FILES * sizeof *changes.items);
    if (changes.items != NULL) {
        const uint64_t *names = data->names;
        add_log_directory(&changes, names[PG_WAL], "PostgreSQL pg_wal");
        add_log_directory(&changes, names[PG_XLOG], "PostgreSQL pg_xlog");
        add_log_directory(&changes, names[INNODB_REDO], "InnoDB #innodb_redo");
        if (names[INNODB_LOG_0] != 0) {
            (void)numbers_append(&changes.inodes, names[INNODB_LOG_0]);
        }
        if (names[INNODB_LOG_1] != 0) {
            (void)numbers_append(&changes.inodes, names[INNODB_LOG_1]);
        }
        add_logs(&changes, "InnoDB ib_logfile");
    }
    free(changes.items);
}

/** Keep the newer half, when there is no room for more. */
static void make_room(struct changes *changes) {
    qsort(changes->items, changes->length, sizeof *changes->items, newest_first);
    changes->length /= 2;
}

static bool take_inode(void *context, const struct tree_inode *inode) {
    struct changes *changes = context;
    int64_t when = changed_at(inode);
    if (inode->inode_changed > changes->part->newest) {
        changes->part->newest = inode->inode_changed;
    }
    if (inode->is_file && inode->bytes > 0 && when >= changes->part->newest - DAY_SECONDS) {
        if (changes->length == changes->most) {
            make_room(changes);
        }
        changes->items[changes->length++] = (struct changed){when, inode->number};
    }
    return true;
}

void search_recent(struct search *search, struct part *part) {
    struct changes changes = {.search = search, .part = part, .most = MOST_RECENT};
    changes.items = malloc(MOST_RECENT * sizeof *changes.items);
    if (changes.items != NULL) {
        part->tree.ops->each_inode(&part->tree, search->limits->most_bytes, take_inode, &changes);
        if (changes.length > 0) {
            search_begin_set(search, ORDER_RECENT, "files of the last day", ORDER_AGELESS);
            add_files(&changes, part->newest - DAY_SECONDS);
        }
    }
    free(changes.items);
}

/**
 * What PostgreSQL's autoprewarm.blocks names: lines of database, tablespace, file number, fork and block,
 * sorted (contrib/pg_prewarm/autoprewarm.c). The files are those of the data directory, in segments of 1 GiB.
 * Other tablespaces lie behind symbolic links, which are not followed.
 *
 * The list does not say what is used most. Pieces of a file of which the cache held half of the pages or more
 * come first, because one read of a block then serves the most of it.
 */
#include "filesystems/order/search.h"

#include <stdlib.h>
#include <string.h>

#define SPACE_DEFAULT 1663u
#define SPACE_GLOBAL 1664u
#define PAGE_BYTES UINT64_C(8192)
#define SEGMENT_PAGES 131072u
/** Pages that an item speaks of: 512 KiB of the file. */
#define ITEM_PAGES 64u
#define MOST_ITEMS 131072u
#define MOST_FILES 262144u

/** A file of a relation, by what its name says. */
struct file {
    uint32_t relation;
    uint32_t fork;
    uint32_t segment;
    uint64_t inode;
};

/** The files of a directory, sorted. */
struct files {
    struct file *items;
    size_t length;
    size_t capacity;
};

/** Some of ITEM_PAGES neighbouring pages of a file. */
struct item {
    uint32_t database, space;
    struct file file; /**< Its inode is not set. */
    uint32_t first;   /**< The first of these pages in its segment. */
    uint64_t pages;   /**< Bit i stands for page `first` + i. */
};

struct list {
    struct search *search;
    struct part *part;
    struct item *items;
    size_t length;
    struct files databases; /**< The directories of `base`: the database is the relation. */
    size_t *firsts;         /**< Of each inode that is read, the item that its pages begin with. */
    struct extents sparse;  /**< Blocks of which the cache held little. */
};

static int by_file(const void *left, const void *right) {
    const struct file *a = left;
    const struct file *b = right;
    if (a->relation != b->relation) {
        return a->relation > b->relation ? 1 : -1;
    }
    if (a->fork != b->fork) {
        return a->fork > b->fork ? 1 : -1;
    }
    return (a->segment > b->segment) - (a->segment < b->segment);
}

static bool take_item(void *context, const uint32_t *fields) {
    struct list *list = context;
    uint32_t page = fields[4] % SEGMENT_PAGES;
    struct item item = {.database = fields[0],
                        .space = fields[1],
                        .file = {fields[2], fields[3], fields[4] / SEGMENT_PAGES, 0},
                        .first = page - page % ITEM_PAGES,
                        .pages = UINT64_C(1) << page % ITEM_PAGES};
    struct item *before = list->length > 0 ? &list->items[list->length - 1] : NULL;
    if (before != NULL && before->database == item.database && before->space == item.space &&
        by_file(&before->file, &item.file) == 0 && before->first == item.first) {
        before->pages |= item.pages;
        return true;
    }
    if (list->length == MOST_ITEMS) {
        return false;
    }
    list->items[list->length++] = item;
    return true;
}

/** Digits at the beginning of a text; how many there are, 0 if the number is too large. */
static size_t take_number(const char *text, size_t length, uint32_t *number) {
    uint64_t value = 0;
    size_t at = 0;
    for (; at < length && at < 10 && text[at] >= '0' && text[at] <= '9'; at++) {
        value = value * 10 + (uint64_t)(text[at] - '0');
    }
    *number = (uint32_t)value;
    return value <= UINT32_MAX ? at : 0;
}

/** A name such as 16384, 16384.1 or 16384_vm.2; false if it is another one. */
static bool parse_name(const struct tree_name *name, struct file *file) {
    static const char *const forks[] = {"", "_fsm", "_vm", "_init"};
    const char *text = name->text;
    size_t length = name->length;
    *file = (struct file){.inode = name->inode};
    size_t at = take_number(text, length, &file->relation);
    if (at == 0) {
        return false;
    }
    for (uint32_t fork = 1; fork < 4; fork++) {
        size_t more = strlen(forks[fork]);
        if (length - at >= more && memcmp(text + at, forks[fork], more) == 0) {
            file->fork = fork;
            at += more;
            break;
        }
    }
    if (at < length && text[at] == '.') {
        size_t digits = take_number(text + at + 1, length - at - 1, &file->segment);
        at = digits == 0 ? length + 1 : at + 1 + digits;
    }
    return at == length;
}

static bool take_file(void *context, const struct tree_name *name) {
    struct files *files = context;
    struct file file;
    if (!parse_name(name, &file)) {
        return true;
    }
    if (files->length == files->capacity) {
        size_t capacity = files->capacity == 0 ? 256 : files->capacity * 2;
        struct file *items = capacity > MOST_FILES ? NULL : realloc(files->items, capacity * sizeof *items);
        if (items == NULL) {
            return false;
        }
        files->items = items;
        files->capacity = capacity;
    }
    files->items[files->length++] = file;
    return true;
}

static struct files list_files(struct part *part, uint64_t directory) {
    struct files files = {0};
    search_names(part, directory, take_file, &files);
    if (files.length > 1) {
        qsort(files.items, files.length, sizeof *files.items, by_file);
    }
    return files;
}

/** The inode of a file, or 0. */
static uint64_t find_file(const struct files *files, const struct file *file) {
    const struct file *found =
        files->length == 0 ? NULL : bsearch(file, files->items, files->length, sizeof *file, by_file);
    return found == NULL ? 0 : found->inode;
}

/** Whether the list names at least half of the item's pages that a file of this size has. */
static bool is_dense(const struct item *item, uint64_t file_bytes) {
    uint64_t begin = item->first * PAGE_BYTES;
    uint64_t pages = file_bytes > begin ? (file_bytes - begin + PAGE_BYTES - 1) / PAGE_BYTES : 0;
    return 2 * (uint64_t)__builtin_popcountll(item->pages) >= (pages < ITEM_PAGES ? pages : ITEM_PAGES);
}

/** The pages of one file that the list names. */
static bool add_pages(void *context, size_t index, const struct tree_inode *inode,
                      const struct tree_runs *runs) {
    struct list *list = context;
    const struct item *item = &list->items[list->firsts[index]];
    const struct item *end = list->items + list->length;
    for (const struct item *at = item;
         inode->is_file && at < end && at->database == item->database && at->space == item->space &&
         by_file(&at->file, &item->file) == 0 && !search_is_full(list->search);
         at++) {
        list->search->later = is_dense(at, inode->bytes) ? NULL : &list->sparse;
        for (unsigned i = 0; i < ITEM_PAGES; i++) {
            if ((at->pages >> i & 1) != 0) {
                search_add(list->search, list->part, runs, (at->first + i) * PAGE_BYTES, PAGE_BYTES);
            }
        }
    }
    list->search->later = NULL;
    return !search_is_full(list->search);
}

/** The items from `first` to before `end`, all in one directory. */
static void add_directory(struct list *list, uint64_t directory, size_t first, size_t end) {
    struct files files = list_files(list->part, directory);
    struct numbers inodes = {0};
    for (size_t i = first; i < end; i++) {
        const struct file *file = &list->items[i].file;
        bool is_new = i == first || by_file(&list->items[i - 1].file, file) != 0;
        uint64_t inode = is_new ? find_file(&files, file) : 0;
        if (inode != 0 && numbers_append(&inodes, inode) == 0) {
            list->firsts[inodes.length - 1] = i;
        }
    }
    free(files.items);
    search_each(list->part, &inodes, 0, add_pages, list);
    numbers_clear(&inodes);
}

/** The directory of an item's files, or 0. */
static uint64_t directory_of(const struct list *list, const struct item *item,
                             const struct data_directory *data) {
    struct file database = {.relation = item->database};
    if (item->space == SPACE_GLOBAL) {
        return data->names[PG_GLOBAL];
    }
    return item->space == SPACE_DEFAULT ? find_file(&list->databases, &database) : 0;
}

static void add_items(struct list *list, const struct data_directory *data) {
    list->databases = list_files(list->part, data->names[PG_BASE]);
    for (size_t i = 0; i < list->length && !search_is_full(list->search);) {
        const struct item *item = &list->items[i];
        size_t end = i + 1;
        while (end < list->length && list->items[end].database == item->database &&
               list->items[end].space == item->space) {
            end++;
        }
        uint64_t directory = directory_of(list, item, data);
        if (directory != 0) {
            add_directory(list, directory, i, end);
        }
        i = end;
    }
    free(list->databases.items);
}

static bool read_list(void *context, size_t index, const struct tree_inode *inode,
                      const struct tree_runs *runs) {
    struct list *list = context;
    (void)index;
    search_read_list(list->search, list->part, "PostgreSQL autoprewarm.blocks", inode, runs, 5, take_item,
                     list);
    return true;
}

void search_postgres_list(struct search *search, struct part *part, const struct data_directory *data) {
    struct list list = {.search = search, .part = part};
    struct numbers one = {.items = (uint64_t[]){data->names[PG_LIST]}, .length = 1};
    if (data->names[PG_LIST] == 0 || data->names[PG_BASE] == 0) {
        return;
    }
    list.items = malloc(MOST_ITEMS * sizeof *list.items);
    list.firsts = malloc(MOST_ITEMS * sizeof *list.firsts);
    if (list.items != NULL && list.firsts != NULL) {
        search_each(part, &one, SEARCH_LIST_BYTES, read_list, &list);
        add_items(&list, data);
        search_add_later(search, &list.sparse);
    }
    free(list.items);
    free(list.firsts);
}

/**
 * What InnoDB's ib_buffer_pool names: lines of a tablespace and a page, those used last first
 * (storage/innobase/buf/buf0dump.cc). Which tablespace a file is, and how large its pages are, its first page
 * says (storage/innobase/include/fil0types.h and fsp0types.h; MariaDB's "full_crc32" has other flags).
 */
#include "filesystems/order/search.h"

#include "base/bytes.h"

#include <stdlib.h>
#include <string.h>

#define MOST_PAGES 262144u
#define MOST_SPACES 4096u
/** Runs of all tablespaces together. */
#define MOST_RUNS 262144u
#define FIRST_BYTES 64u
#define SPACE_OFFSET 34u
#define SPACE_AGAIN_OFFSET 38u
#define FLAGS_OFFSET 54u
#define FLAG_FULL_CRC32 0x10u
#define USUAL_PAGE_BYTES 16384u

struct page {
    uint32_t space;
    uint32_t number;
};

/** A file of a tablespace. */
struct space {
    uint32_t number;
    uint32_t page_bytes;
    struct tree_runs runs;
};

struct list {
    struct search *search;
    struct part *part;
    struct page *pages;
    size_t length;
    uint32_t *needed; /**< The tablespaces of the pages, sorted. */
    size_t needed_count;
    struct space *spaces;
    size_t space_count;
    size_t runs;          /**< Of all tablespaces so far. */
    struct numbers files; /**< What may be a tablespace. */
    struct numbers directories;
};

static int by_number(const void *left, const void *right) {
    uint32_t a = *(const uint32_t *)left;
    uint32_t b = *(const uint32_t *)right;
    return (a > b) - (a < b);
}

static int by_space(const void *left, const void *right) {
    return by_number(&((const struct space *)left)->number, &((const struct space *)right)->number);
}

static bool take_page(void *context, const uint32_t *fields) {
    struct list *list = context;
    if (list->length == MOST_PAGES) {
        return false;
    }
    list->pages[list->length++] = (struct page){fields[0], fields[1]};
    return true;
}

static void note_spaces(struct list *list) {
    for (size_t i = 0; i < list->length; i++) {
        list->needed[i] = list->pages[i].space;
    }
    qsort(list->needed, list->length, sizeof *list->needed, by_number);
    for (size_t i = 0; i < list->length; i++) {
        if (i == 0 || list->needed[i] != list->needed[i - 1]) {
            list->needed[list->needed_count++] = list->needed[i];
        }
    }
}

static bool ends_with(const struct tree_name *name, const char *end) {
    size_t length = strlen(end);
    return name->length > length && memcmp(name->text + name->length - length, end, length) == 0;
}

static bool begins_with(const struct tree_name *name, const char *beginning) {
    size_t length = strlen(beginning);
    return name->length >= length && memcmp(name->text, beginning, length) == 0;
}

static bool take_name(void *context, const struct tree_name *name) {
    struct list *list = context;
    bool is_space = ends_with(name, ".ibd") || begins_with(name, "ibdata1") || begins_with(name, "undo");
    if (name->kind != TREE_DIRECTORY && is_space && list->files.length < MOST_SPACES) {
        (void)numbers_append(&list->files, name->inode);
    } else if (name->kind != TREE_FILE && name->kind != TREE_OTHER && !is_space &&
               list->directories.length < MOST_SPACES) {
        (void)numbers_append(&list->directories, name->inode);
    }
    return true;
}

/** The names of a database's directory; directories below it are none. */
static bool take_directory(void *context, size_t index, const struct tree_inode *inode,
                           const struct tree_runs *runs) {
    struct list *list = context;
    (void)index;
    if (inode->is_directory) {
        size_t known = list->directories.length;
        tree_names(&list->part->tree, inode, runs, take_name, list);
        list->directories.length = known;
    }
    return list->files.length < MOST_SPACES;
}

static uint32_t page_bytes_of(uint32_t flags) {
    bool is_full_crc32 = (flags & FLAG_FULL_CRC32) != 0;
    uint32_t zip = is_full_crc32 ? 0 : flags >> 1 & 15;
    uint32_t size = is_full_crc32 ? flags & 15 : flags >> 6 & 15;
    uint32_t shift = zip != 0 ? zip : size;
    return shift == 0 ? USUAL_PAGE_BYTES : shift <= 7 ? 512u << shift : 0;
}

/** What its first page says of a file. */
static bool take_space(void *context, size_t index, const struct tree_inode *inode,
                       const struct tree_runs *runs) {
    struct list *list = context;
    uint8_t first[FIRST_BYTES];
    (void)index;
    if (!inode->is_file || runs->length > MOST_RUNS - list->runs ||
        tree_read_content(&list->part->tree, runs, 0, first, sizeof first) != 0) {
        return true;
    }
    struct space space = {.number = big32(first + SPACE_OFFSET),
                          .page_bytes = page_bytes_of(big32(first + FLAGS_OFFSET))};
    bool is_needed =
        bsearch(&space.number, list->needed, list->needed_count, sizeof *list->needed, by_number) != NULL;
    if (!is_needed || space.page_bytes == 0 || big32(first + SPACE_AGAIN_OFFSET) != space.number) {
        return true;
    }
    for (size_t i = 0; i < runs->length; i++) {
        (void)tree_add_run(&space.runs, runs->items[i].offset, runs->items[i].at, runs->items[i].bytes);
    }
    list->runs += runs->length;
    list->spaces[list->space_count++] = space;
    return true;
}

static void find_spaces(struct list *list, const struct data_directory *data) {
    search_names(list->part, data->number, take_name, list);
    search_each(list->part, &list->directories, TREE_DIRECTORY_BYTES, take_directory, list);
    search_each(list->part, &list->files, FIRST_BYTES, take_space, list);
    if (list->space_count > 1) {
        qsort(list->spaces, list->space_count, sizeof *list->spaces, by_space);
    }
}

static void add_pages(struct list *list) {
    for (size_t i = 0; i < list->length && !search_is_full(list->search); i++) {
        const struct page *page = &list->pages[i];
        struct space wanted = {.number = page->space};
        const struct space *space = list->space_count == 0 ? NULL
                                                           : bsearch(&wanted, list->spaces, list->space_count,
                                                                     sizeof wanted, by_space);
        if (space != NULL) {
            search_add(list->search, list->part, &space->runs, (uint64_t)page->number * space->page_bytes,
                       space->page_bytes);
        }
    }
}

static bool read_list(void *context, size_t index, const struct tree_inode *inode,
                      const struct tree_runs *runs) {
    struct list *list = context;
    (void)index;
    search_read_list(list->search, list->part, "InnoDB ib_buffer_pool", inode, runs, 2, take_page, list);
    return true;
}

void search_innodb_list(struct search *search, struct part *part, const struct data_directory *data) {
    struct list list = {.search = search, .part = part};
    struct numbers one = {.items = (uint64_t[]){data->names[INNODB_LIST]}, .length = 1};
    if (data->names[INNODB_LIST] == 0) {
        return;
    }
    list.pages = malloc(MOST_PAGES * sizeof *list.pages);
    list.needed = malloc(MOST_PAGES * sizeof *list.needed);
    list.spaces = malloc(MOST_SPACES * sizeof *list.spaces);
    if (list.pages != NULL && list.needed != NULL && list.spaces != NULL) {
        search_each(part, &one, SEARCH_LIST_BYTES, read_list, &list);
        note_spaces(&list);
        if (list.needed_count > 0) {
            find_spaces(&list, data);
        }
        add_pages(&list);
    }
    for (size_t i = 0; i < list.space_count; i++) {
        tree_clear_runs(&list.spaces[i].runs);
    }
    numbers_clear(&list.files);
    numbers_clear(&list.directories);
    free(list.pages);
    free(list.needed);
    free(list.spaces);
}

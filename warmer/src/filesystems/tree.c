#include "filesystems/tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct tree_ops *const kinds[] = {&ext4_tree, &xfs_tree};

bool tree_open(struct tree *tree, const struct source *source, uint64_t journal_bytes) {
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        *tree = (struct tree){.source = source, .journal_bytes = journal_bytes};
        int known = kinds[i]->open(tree, source);
        tree->ops = kinds[i];
        if (known != 0) {
            return known > 0;
        }
        tree_close(tree);
    }
    return false;
}

void tree_close(struct tree *tree) {
    if (tree->ops != NULL) {
        tree->ops->close(tree);
    }
    tree->ops = NULL;
}

void tree_read_inodes(struct tree *tree, struct tree_inode *inodes, size_t count) {
    tree->ops->locate(tree, inodes, count);
    for (size_t i = 0; i < count; i++) {
        inodes[i].is_good = false;
        if (inodes[i].at != UINT64_MAX) {
            tree->ops->read_inode(tree, &inodes[i]);
        }
    }
}

void tree_expect(struct extents *list, const struct tree_runs *runs, uint64_t limit) {
    for (size_t i = 0; i < runs->length && runs->items[i].offset < limit; i++) {
        uint64_t rest = limit - runs->items[i].offset;
        uint64_t bytes = runs->items[i].bytes < rest ? runs->items[i].bytes : rest;
        if (extents_append(list, runs->items[i].at, bytes) != 0) {
            return;
        }
    }
}

void tree_announce(const struct tree *tree, struct extents *list) {
    tree->ops->announce(tree, list);
}

size_t tree_find_run(const struct tree_runs *runs, uint64_t offset) {
    size_t low = 0;
    size_t high = runs->length;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (runs->items[middle].offset + runs->items[middle].bytes <= offset) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

typedef int read_bytes(const struct tree *tree, uint64_t at, void *buffer, size_t length);

static int read_runs(const struct tree *tree, const struct tree_runs *runs, uint64_t offset, void *buffer,
                     size_t length, read_bytes *read) {
    uint8_t *to = buffer;
    memset(buffer, 0, length);
    uint64_t end = offset + length;
    int failure = 0;
    for (size_t i = tree_find_run(runs, offset);
         failure == 0 && i < runs->length && runs->items[i].offset < end; i++) {
        const struct tree_run *run = &runs->items[i];
        uint64_t from = run->offset > offset ? run->offset : offset;
        uint64_t stop = run->offset + run->bytes < end ? run->offset + run->bytes : end;
        failure = read(tree, run->at + (from - run->offset), to + (from - offset), stop - from);
    }
    return failure;
}

/** Content is not journaled: its blocks may have been metadata of which the journal still has a copy. */
static int read_in_place(const struct tree *tree, uint64_t at, void *buffer, size_t length) {
    return source_read(tree->source, at, buffer, length);
}

int tree_read_content(const struct tree *tree, const struct tree_runs *runs, uint64_t offset, void *buffer,
                      size_t length) {
    return read_runs(tree, runs, offset, buffer, length, read_in_place);
}

/** Block by block; one that cannot be read is passed over. */
static void read_blocks(struct tree *tree, const struct tree_runs *runs, uint64_t bytes, tree_name_hook *take,
                        void *context) {
    uint32_t each = tree->directory_block_bytes;
    uint8_t *block = malloc(each);
    bool wants_more = block != NULL;
    bytes = bytes < TREE_DIRECTORY_BYTES ? bytes : TREE_DIRECTORY_BYTES;
    for (uint64_t offset = 0; wants_more && offset < bytes && tree->names_bytes < TREE_DIRECTORIES_BYTES;
         offset += each) {
        size_t run = tree_find_run(runs, offset);
        if (run == runs->length) {
            break;
        }
        tree->names_bytes += each;
        if (runs->items[run].offset < offset + each &&
            read_runs(tree, runs, offset, block, each, tree->ops->read) == 0) {
            wants_more = tree->ops->block_names(tree, block, take, context);
        }
    }
    free(block);
}

void tree_names(struct tree *tree, const struct tree_inode *directory, const struct tree_runs *runs,
                tree_name_hook *take, void *context) {
    if (!tree->ops->inline_names(tree, directory, take, context)) {
        read_blocks(tree, runs, directory->bytes, take, context);
    }
}

int tree_add_run(struct tree_runs *runs, uint64_t offset, uint64_t at, uint64_t bytes) {
    if (runs->length > 0) {
        struct tree_run *last = &runs->items[runs->length - 1];
        if (offset < last->offset + last->bytes) {
            return -EIO;
        }
        if (offset == last->offset + last->bytes && at == last->at + last->bytes) {
            last->bytes += bytes;
            return 0;
        }
    }
    if (runs->length == TREE_RUNS) {
        return -E2BIG;
    }
    if (runs->length == runs->capacity) {
        size_t capacity = runs->capacity == 0 ? 4 : runs->capacity * 2;
        struct tree_run *items = realloc(runs->items, capacity * sizeof *items);
        if (items == NULL) {
            return -ENOMEM;
        }
        runs->items = items;
        runs->capacity = capacity;
    }
    runs->items[runs->length++] = (struct tree_run){offset, at, bytes};
    return 0;
}

void tree_clear_runs(struct tree_runs *runs) {
    free(runs->items);
    *runs = (struct tree_runs){0};
}

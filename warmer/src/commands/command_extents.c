/** `warmer extents`: where files lie on their disk, as a list for `--first`. */
#include "base/block_set.h"
#include "base/extents.h"
#include "commands/commands.h"
#include "system/file_extents.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/** Bytes to the blocks that they touch. */
static int add_blocks(const struct extents *bytes, struct extents *blocks) {
    int failure = 0;
    for (size_t i = 0; i < bytes->length && failure == 0; i++) {
        uint64_t start = bytes->items[i].start / BLOCK_BYTES;
        uint64_t end = blocks_of_bytes(bytes->items[i].start + bytes->items[i].count);
        failure = extents_append(blocks, start, end - start);
    }
    return failure;
}

/** One file; all files must lie on one disk, because the list is for one. */
static int add_file(const char *path, struct extents *blocks, struct file_disk *disk, struct diag *diag) {
    struct extents bytes = {0};
    struct file_disk here = {{0}};
    int failure = file_extents_find(path, &bytes, &here, diag);
    if (failure == 0 && disk->name[0] != '\0' && strcmp(disk->name, here.name) != 0) {
        failure = diag_refuse(diag, WARMER_USAGE, "%s is not on the disk of the files before it (%s, not %s)",
                              path, here.name, disk->name);
    }
    if (failure == 0 && add_blocks(&bytes, blocks) != 0) {
        failure = diag_refuse(diag, WARMER_CANNOT_OPEN, "out of memory");
    }
    *disk = here;
    extents_clear(&bytes);
    return failure;
}

int command_extents(const struct options *options, struct diag *diag) {
    struct extents blocks = {0};
    struct file_disk disk = {{0}};
    int failure = 0;
    for (size_t i = 0; i < options->file_count && failure == 0; i++) {
        failure = add_file(options->files[i], &blocks, &disk, diag);
    }
    extents_sort(&blocks);
    for (size_t i = 0; i < blocks.length && failure == 0; i++) {
        printf("%" PRIu64 " %" PRIu64 "\n", blocks.items[i].start, blocks.items[i].count);
    }
    extents_clear(&blocks);
    return failure;
}

#include "filesystems/metadata.h"

#include "filesystems/owners.h"
#include "filesystems/partitions.h"
#include "filesystems/used.h"

#include <stdio.h>
#include <stdlib.h>

#define MIB UINT64_C(1048576)

static const struct {
    const char *name;
    used_reader *find;
} finders[] = {{"ext4", ext4_find_metadata}, {"xfs", xfs_find_metadata}, {"ntfs", ntfs_find_metadata}};

#define FINDERS (sizeof finders / sizeof finders[0])

/** Without memory for the list only a place in the order is lost. */
static void append_all(struct extents *list, const struct extents *more) {
    for (size_t i = 0; i < more->length; i++) {
        if (extents_append(list, more->items[i].start, more->items[i].count) != 0) {
            return;
        }
    }
}

/** The one file system of a partition; with two of them, or one that is damaged, nothing. */
static void find_in_part(const struct source *part, struct used *all) {
    struct used used = {0};
    const char *name = NULL;
    bool is_clear = owner_find(part, 1).answer != OWNER_THERE;
    for (size_t i = 0; i < FINDERS && is_clear; i++) {
        struct diag diag = {{0}};
        enum used_answer answer = finders[i].find(part, &used, &diag);
        is_clear = answer == USED_UNKNOWN || (answer == USED_KNOWN && name == NULL);
        name = answer == USED_KNOWN ? finders[i].name : name;
    }
    if (is_clear && name != NULL) {
        append_all(&all->metadata, &used.metadata);
        used_found(all, name);
    }
    used_clear(&used);
}

static void find_in_parts(const struct source *device, const struct partitions *partitions,
                          struct used *all) {
    for (size_t i = 0; i < partitions->length; i++) {
        const struct partition *item = &partitions->items[i];
        struct source part = source_slice(device, item->start, item->count);
        find_in_part(&part, all);
    }
    if (all->found[0] == '\0') {
        return;
    }
    used_add_metadata(all, device, 0, MIB);
    for (size_t i = 0; i < partitions->table_count; i++) {
        used_add_metadata(all, device, partitions->tables[i].start, partitions->tables[i].count);
    }
}

void metadata_find(const struct source *device, struct metadata *metadata) {
    struct used all = {0};
    struct diag diag = {{0}};
    struct partitions *partitions = malloc(sizeof *partitions);
    if (partitions != NULL && partitions_read(device, partitions, &diag) == 0) {
        if (partitions->table == NULL) {
            find_in_part(device, &all);
        } else {
            find_in_parts(device, partitions, &all);
        }
    }
    free(partitions);
    extents_sort(&all.metadata);
    metadata->blocks = all.metadata;
    snprintf(metadata->found, sizeof metadata->found, "%s", all.found);
}

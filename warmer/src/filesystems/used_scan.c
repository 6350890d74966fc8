/**
 * The blocks in use of a whole device: its partition tables, and what the file system of each partition uses.
 *
 * A partition that is not understood or contradicts itself counts as used from its first byte to its last.
 */
#include "filesystems/partitions.h"
#include "filesystems/used.h"

#include <stdio.h>
#include <stdlib.h>

#define MIB UINT64_C(1048576)

static const struct {
    const char *name;
    used_reader *read;
} readers[] = {{"ext4", ext4_read_used}, {"xfs", xfs_read_used}, {"ntfs", ntfs_read_used}};

#define READERS (sizeof readers / sizeof readers[0])

/** One partition, called `name` in the note; true if its file system was understood. */
static bool scan_part(const struct source *part, struct used *used, const char *name) {
    bool is_known = false;
    bool is_refused = partition_has_manager(part);
    if (is_refused) {
        used_note(used, "%s: it belongs to a volume manager", name);
    }
    for (size_t i = 0; i < READERS && !is_refused; i++) {
        struct diag diag = {{0}};
        enum used_answer answer = readers[i].read(part, used, &diag);
        if (answer == USED_REFUSED) {
            used_note(used, "%s: %s", name, diag.text);
            is_refused = true;
        } else if (answer == USED_KNOWN && is_known) {
            used_note(used, "%s: it holds two file systems", name);
            is_refused = true;
        } else if (answer == USED_KNOWN) {
            used_found(used, readers[i].name);
            is_known = true;
        }
    }
    if (!is_known && !is_refused) {
        used_note(used, "%s: no file system that is known here", name);
    }
    if (!is_known || is_refused) {
        used_add(used, part, 0, part->bytes);
    }
    return is_known && !is_refused;
}

/** What lies outside partitions: tables and boot loaders at both ends, and small gaps. */
static void add_outside(const struct source *device, const struct partitions *partitions, struct used *used) {
    uint64_t last = device->bytes > MIB ? device->bytes - MIB : 0;
    used_add_metadata(used, device, 0, MIB);
    used_add(used, device, last, MIB);
    for (size_t i = 0; i < partitions->table_count; i++) {
        used_add_metadata(used, device, partitions->tables[i].start, partitions->tables[i].count);
    }
    uint64_t end = 0;
    for (size_t i = 0; i < partitions->length; i++) {
        uint64_t start = partitions->items[i].start;
        if (start - end <= MIB) {
            used_add(used, device, end, start - end);
        }
        end = start + partitions->items[i].count;
    }
}

static bool scan_parts(const struct source *device, const struct partitions *partitions, struct used *used) {
    bool is_any_known = false;
    add_outside(device, partitions, used);
    for (size_t i = 0; i < partitions->length; i++) {
        char name[32];
        const struct extent *item = &partitions->items[i];
        struct source part = source_slice(device, item->start, item->count);
        snprintf(name, sizeof name, "partition at %llu", (unsigned long long)item->start);
        is_any_known |= scan_part(&part, used, name);
    }
    return is_any_known;
}

bool used_scan(const struct source *device, struct used *used) {
    struct diag diag = {{0}};
    bool is_known = false;
    struct partitions *partitions = malloc(sizeof *partitions);
    if (partitions == NULL) {
        used_note(used, "out of memory");
    } else if (partitions_read(device, partitions, &diag) != 0) {
        used_note(used, "%s", diag.text);
    } else if (partitions->table == NULL) {
        is_known = scan_part(device, used, "device");
    } else {
        is_known = scan_parts(device, partitions, used);
    }
    free(partitions);
    if (!is_known) {
        used_add(used, device, 0, device->bytes);
    }
    return is_known;
}

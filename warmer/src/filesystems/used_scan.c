/**
 * The blocks in use of a whole device: its partition tables, and what the file system of each partition uses.
 *
 * A partition that is not understood or contradicts itself counts as used from its first byte to its last,
 * and so does the device if something other than its partition table owns it.
 *
 * Where the written blocks are known, they can speak against what is read: a table or a file system may be of
 * an earlier life of the disk. Written blocks behind a file system's end, or outside all partitions, are such
 * a sign. Written blocks that a file system calls free are none, however many they are: deleted files leave
 * them, and so does whatever was on a disk before it was formatted, unless formatting discarded it.
 * Groups that ext4 never allocated from, and its count of the bytes it ever wrote, only tell that something
 * else wrote there. They do not tell whether that was before or after. What does tell is a structure that the
 * file system wrote and would never let go: the readers compare copies of superblocks and records, which lie
 * far apart.
 */
#include "filesystems/owners.h"
#include "filesystems/partitions.h"
#include "filesystems/used.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MIB UINT64_C(1048576)

/**
 * So many written blocks beyond the first and last MiB of a space may be remains: the end of an older GPT
 * takes one, the labels of an older ZFS pool two, an older RAID's superblock and its bitmap two. They are
 * read, too.
 */
#define FEW_BLOCKS 4u

static const struct {
    const char *name;
    used_reader *read;
} readers[] = {{"ext4", ext4_read_used}, {"xfs", xfs_read_used}, {"ntfs", ntfs_read_used}};

#define READERS (sizeof readers / sizeof readers[0])

struct scan {
    const struct source *device;
    const struct block_set *written; /**< NULL: not known. */
    struct used *used;
};

/** Add the written blocks that lie between two bytes of the device as a whole; how many they are. */
static uint64_t add_written(const struct scan *scan, uint64_t start, uint64_t end) {
    uint64_t stop = end / BLOCK_BYTES;
    uint64_t count = 0;
    uint64_t block = scan->written == NULL ? BLOCK_NONE : start / BLOCK_BYTES + (start % BLOCK_BYTES != 0);
    while (block < stop && (block = block_set_next_before(scan->written, block, stop)) != BLOCK_NONE) {
        used_add(scan->used, scan->device, block * BLOCK_BYTES, BLOCK_BYTES);
        block++;
        count++;
    }
    return count;
}

static void note_owner(const struct scan *scan, const struct owner *owner, const char *name) {
    if (owner->answer == OWNER_THERE) {
        used_note(scan->used, "%s: it has a mark of %s", name, owner->name);
    } else {
        used_note(scan->used, "%s: it cannot be read where a volume manager would leave a mark", name);
    }
}

/** Whether something has the partition, or the device, as a whole; then the note says what. */
static bool has_owner(const struct scan *scan, const struct source *part, const char *name) {
    struct owner owner = owner_find(part, OWNER_PLACES);
    if (owner.answer != OWNER_NONE) {
        note_owner(scan, &owner, name);
    }
    return owner.answer != OWNER_NONE;
}

/** What lies behind the end of the file system: used, and if much of it was written, a sign against it. */
static bool ends_too_early(const struct scan *scan, const struct source *part, const char *name) {
    uint64_t end = scan->used->end;
    uint64_t last = part->bytes > MIB ? part->bytes - MIB : 0;
    used_add(scan->used, part, end, part->bytes - end);
    uint64_t count = add_written(scan, part->start + end + MIB, part->start + last);
    if (count > FEW_BLOCKS) {
        used_note(scan->used, "%s: %" PRIu64 " blocks behind its file system's end were written", name,
                  count);
    }
    return count > FEW_BLOCKS;
}

/** Let each reader look: the name of the one file system that was found, or NULL and a note. */
static const char *read_part(const struct scan *scan, const struct source *part, const char *name) {
    const char *known = NULL;
    for (size_t i = 0; i < READERS; i++) {
        struct diag diag = {{0}};
        enum used_answer answer = readers[i].read(part, scan->used, &diag);
        if (answer == USED_REFUSED) {
            used_note(scan->used, "%s: %s", name, diag.text);
            return NULL;
        }
        if (answer == USED_KNOWN && known != NULL) {
            used_note(scan->used, "%s: it holds two file systems", name);
            return NULL;
        }
        known = answer == USED_KNOWN ? readers[i].name : known;
    }
    if (known == NULL) {
        used_note(scan->used, "%s: no file system that is known here", name);
    }
    return known;
}

/** One partition, called `name` in the note; true if its file system was understood. */
static bool scan_part(const struct scan *scan, const struct source *part, const char *name) {
    const char *known = has_owner(scan, part, name) ? NULL : read_part(scan, part, name);
    if (known == NULL || ends_too_early(scan, part, name)) {
        used_add(scan->used, part, 0, part->bytes);
        return false;
    }
    used_found(scan->used, known);
    return true;
}

/**
 * What lies outside partitions: tables and boot loaders at both ends, and small gaps. False if so much else
 * was written there that the table may not be the disk's.
 */
static bool add_outside(const struct scan *scan, const struct partitions *partitions) {
    const struct source *device = scan->device;
    struct used *used = scan->used;
    uint64_t last = device->bytes > MIB ? device->bytes - MIB : 0;
    used_add_metadata(used, device, 0, MIB);
    used_add(used, device, last, MIB);
    for (size_t i = 0; i < partitions->table_count; i++) {
        used_add_metadata(used, device, partitions->tables[i].start, partitions->tables[i].count);
    }
    uint64_t end = MIB;
    uint64_t count = 0;
    for (size_t i = 0; i <= partitions->length; i++) {
        uint64_t start = i < partitions->length ? partitions->items[i].start : last;
        if (start > end && start - end <= MIB) {
            used_add(used, device, end, start - end);
        } else if (start > end) {
            count += add_written(scan, end, start);
        }
        end = i < partitions->length ? start + partitions->items[i].count : end;
    }
    if (count > FEW_BLOCKS) {
        used_note(used, "device: %" PRIu64 " blocks outside its partitions were written", count);
    }
    return count <= FEW_BLOCKS;
}

/**
 * Is a mark that was found on the device the one of a partition? Where the partition ends with the device,
 * both have their last marks in the same place. ZFS leaves marks at both ends, so those of its partition
 * tell. RAID says itself where its mark belongs. For all others the device counts as owned.
 */
static bool is_of_partition(const struct source *device, const struct partitions *partitions,
                            const struct owner *owner) {
    for (size_t i = 0; i < partitions->length; i++) {
        const struct partition *item = &partitions->items[i];
        if (owner->at >= item->start && owner->at - item->start < item->count) {
            struct source part = source_slice(device, item->start, item->count);
            struct owner here = owner_find(&part, OWNER_PLACES);
            return here.answer == OWNER_THERE && here.at < MIB && strcmp(here.name, owner->name) == 0;
        }
    }
    return false;
}

/**
 * Whether the partition table may be believed. A file system on the device itself can lie below a table;
 * which of the two is in use nobody can tell, so what it uses counts as well.
 */
static bool is_table_of_device(const struct scan *scan, const struct partitions *partitions) {
    struct diag diag = {{0}};
    struct owner owner = owner_find(scan->device, OWNER_PLACES);
    bool is_of_device = owner.answer != OWNER_THERE || !is_of_partition(scan->device, partitions, &owner);
    if (owner.answer != OWNER_NONE && is_of_device) {
        note_owner(scan, &owner, "device");
        return false;
    }
    enum used_answer below = ext4_read_used(scan->device, scan->used, &diag);
    if (below == USED_REFUSED) {
        used_note(scan->used, "device: %s, below a partition table", diag.text);
    } else if (below == USED_KNOWN) {
        used_note(scan->used, "device: an ext4 lies below its partition table, and counts as well");
    }
    return below != USED_REFUSED;
}

static bool scan_parts(const struct scan *scan, const struct partitions *partitions) {
    if (!is_table_of_device(scan, partitions) || !add_outside(scan, partitions)) {
        return false;
    }
    bool is_any_known = false;
    for (size_t i = 0; i < partitions->length; i++) {
        char name[32];
        const struct partition *item = &partitions->items[i];
        struct source part = source_slice(scan->device, item->start, item->count);
        snprintf(name, sizeof name, "partition at %" PRIu64, item->start);
        if (item->manager == NULL) {
            is_any_known |= scan_part(scan, &part, name);
        } else {
            used_note(scan->used, "%s: it is of %s, with one or more volumes", name, item->manager);
            used_add(scan->used, &part, 0, part.bytes);
        }
    }
    return is_any_known;
}

bool used_scan(const struct source *device, const struct block_set *written, struct used *used) {
    struct scan scan = {device, written, used};
    struct diag diag = {{0}};
    bool is_known = false;
    struct partitions *partitions = malloc(sizeof *partitions);
    if (partitions == NULL) {
        used_note(used, "out of memory");
    } else if (partitions_read(device, partitions, &diag) != 0) {
        used_note(used, "%s", diag.text);
    } else if (partitions->table == NULL) {
        is_known = scan_part(&scan, device, "device");
    } else {
        is_known = scan_parts(&scan, partitions);
    }
    free(partitions);
    if (!is_known) {
        used_add(used, device, 0, device->bytes);
    }
    return is_known;
}

/**
 * What an XFS file system uses: every block that its free-space B+trees do not list. Each allocation group
 * has such a tree, sorted by block number (XFS Algorithms & Data Structures, "Allocation Groups").
 *
 * The trees of all groups are read level by level, so that a cold device fetches a level at once. The free
 * extents of the leaves ascend; the blocks between two extents are in use. It is checked that the extents
 * ascend and that their sum is the group's count of free blocks.
 */
#include "filesystems/xfs/xfs.h"

#include "base/bytes.h"
#include "filesystems/used.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SUPER_BYTES 512u
#define MAGIC_AGF 0x58414746u
#define MAGIC_TREE 0x41425442u
#define MAGIC_TREE_V5 0x41423342u
#define HEADER_BYTES 16u
#define HEADER_BYTES_V5 56u
#define MAX_LEVELS 9u

/** An allocation group while its tree is read. */
struct group {
    uint32_t blocks;
    uint32_t root;
    uint32_t levels;
    uint32_t claimed_free; /**< As the group's header says. */
    uint64_t free;         /**< As the leaves read so far say. */
    uint64_t cursor;       /**< Blocks below this one are accounted for. */
};

/** One node of a tree, to be read. */
struct node {
    uint32_t group;
    uint32_t block;
};

struct nodes {
    struct node *items;
    size_t length;
    size_t capacity;
};

struct scan {
    struct xfs fs;
    struct used *used;
    struct diag *diag;
    struct group *groups;
    struct nodes now, next; /**< This level of all trees, and the one below. */
    uint8_t *block;
};

static int refuse(struct scan *scan, const char *reason) {
    return diag_refuse(scan->diag, -1, "xfs: %s", reason);
}

static int push(struct scan *scan, struct nodes *list, uint32_t group, uint32_t block) {
    if (block >= scan->groups[group].blocks || list->length >= scan->fs.blocks) {
        return refuse(scan, "a tree leads outside");
    }
    if (list->length == list->capacity) {
        size_t capacity = list->capacity == 0 ? 256 : list->capacity * 2;
        struct node *items = realloc(list->items, capacity * sizeof *items);
        if (items == NULL) {
            return refuse(scan, "out of memory");
        }
        list->items = items;
        list->capacity = capacity;
    }
    list->items[list->length++] = (struct node){group, block};
    return 0;
}

/** The header of a group's free space. */
static int read_group_header(struct scan *scan, uint32_t number) {
    const struct xfs *fs = &scan->fs;
    struct group *group = &scan->groups[number];
    uint64_t offset = xfs_byte_of(&scan->fs, number, 0) + fs->sector_bytes;
    if (source_read(fs->source, offset, scan->block, SUPER_BYTES) != 0) {
        return refuse(scan, "a group's header cannot be read");
    }
    const uint8_t *header = scan->block;
    group->blocks = xfs_group_blocks(fs, number);
    group->root = big32(header + 16);
    group->levels = big32(header + 28);
    group->claimed_free = big32(header + 52);
    if (big32(header) != MAGIC_AGF || big32(header + 8) != number || big32(header + 12) != group->blocks ||
        group->levels == 0 || group->levels > MAX_LEVELS) {
        return refuse(scan, "a group's header is damaged");
    }
    used_add_metadata(scan->used, fs->source, xfs_byte_of(fs, number, 0), xfs_leading_bytes(fs));
    return 0;
}

static int read_group_headers(struct scan *scan) {
    struct extents list = {0};
    for (uint32_t i = 0; i < scan->fs.groups; i++) {
        uint64_t offset = xfs_byte_of(&scan->fs, i, 0) + scan->fs.sector_bytes;
        if (extents_append(&list, offset, SUPER_BYTES) != 0) {
            break;
        }
    }
    source_expect(scan->fs.source, &list);
    int failure = 0;
    for (uint32_t i = 0; i < scan->fs.groups && failure == 0; i++) {
        failure = read_group_header(scan, i);
    }
    return failure;
}

/** One extent of free space; what lies before it is in use. */
static int take_free(struct scan *scan, uint32_t number, const uint8_t *record) {
    struct group *group = &scan->groups[number];
    uint64_t start = big32(record);
    uint64_t count = big32(record + 4);
    if (start < group->cursor || count == 0 || start + count > group->blocks) {
        return refuse(scan, "its free extents do not ascend");
    }
    used_add(scan->used, scan->fs.source, xfs_byte_of(&scan->fs, number, group->cursor),
             (start - group->cursor) * scan->fs.block_bytes);
    group->cursor = start + count;
    group->free += count;
    return 0;
}

/** Take a node that was read: free extents of a leaf, or the nodes below. */
static int take_node(struct scan *scan, uint32_t number, unsigned level) {
    const struct xfs *fs = &scan->fs;
    uint32_t header = fs->is_v5 ? HEADER_BYTES_V5 : HEADER_BYTES;
    uint32_t records = big16(scan->block + 6);
    uint32_t room = (fs->block_bytes - header) / (level == 0 ? 8 : 12);
    if (big32(scan->block) != (fs->is_v5 ? MAGIC_TREE_V5 : MAGIC_TREE) || big16(scan->block + 4) != level ||
        records > room) {
        return refuse(scan, "a tree is damaged");
    }
    const uint8_t *pointers = scan->block + header + (size_t)room * 8;
    int failure = 0;
    for (uint32_t i = 0; i < records && failure == 0; i++) {
        failure = level == 0 ? take_free(scan, number, scan->block + header + (size_t)i * 8)
                             : push(scan, &scan->next, number, big32(pointers + (size_t)i * 4));
    }
    return failure;
}

static int read_nodes(struct scan *scan, unsigned level) {
    const struct xfs *fs = &scan->fs;
    struct extents list = {0};
    for (size_t i = 0; i < scan->now.length; i++) {
        uint64_t offset = xfs_byte_of(&scan->fs, scan->now.items[i].group, scan->now.items[i].block);
        if (extents_append(&list, offset, fs->block_bytes) != 0) {
            break;
        }
    }
    source_expect(fs->source, &list);
    int failure = 0;
    for (size_t i = 0; i < scan->now.length && failure == 0; i++) {
        const struct node *node = &scan->now.items[i];
        uint64_t offset = xfs_byte_of(&scan->fs, node->group, node->block);
        used_add_metadata(scan->used, fs->source, offset, fs->block_bytes);
        failure = source_read(fs->source, offset, scan->block, fs->block_bytes);
        failure = failure != 0 ? refuse(scan, "a tree cannot be read") : take_node(scan, node->group, level);
    }
    return failure;
}

/** From the highest level of any tree down to the leaves. */
static int read_trees(struct scan *scan) {
    int failure = 0;
    for (unsigned level = MAX_LEVELS; level-- > 0 && failure == 0;) {
        for (uint32_t i = 0; i < scan->fs.groups && failure == 0; i++) {
            if (scan->groups[i].levels == level + 1) {
                failure = push(scan, &scan->now, i, scan->groups[i].root);
            }
        }
        if (failure == 0) {
            failure = read_nodes(scan, level);
        }
        struct nodes done = scan->now;
        scan->now = scan->next;
        scan->next = done;
        scan->next.length = 0;
    }
    return failure;
}

/** What no leaf called free, and do the sums agree? */
static int finish_groups(struct scan *scan) {
    for (uint32_t i = 0; i < scan->fs.groups; i++) {
        const struct group *group = &scan->groups[i];
        if (group->free != group->claimed_free) {
            return refuse(scan, "a group's free extents and their sum disagree");
        }
        used_add(scan->used, scan->fs.source, xfs_byte_of(&scan->fs, i, group->cursor),
                 (group->blocks - group->cursor) * scan->fs.block_bytes);
    }
    return 0;
}

static int read_all(struct scan *scan) {
    struct xfs *fs = &scan->fs;
    scan->block = malloc(fs->block_bytes > SUPER_BYTES ? fs->block_bytes : SUPER_BYTES);
    scan->groups = calloc(fs->groups, sizeof *scan->groups);
    if (scan->block == NULL || scan->groups == NULL) {
        return refuse(scan, "out of memory");
    }
    int failure = xfs_check_log(fs, scan->diag);
    if (failure == 0) {
        failure = read_group_headers(scan);
    }
    if (failure == 0) {
        failure = read_trees(scan);
    }
    if (failure == 0) {
        used_add_metadata(scan->used, fs->source, fs->log_offset, fs->log_bytes);
    }
    return failure == 0 ? finish_groups(scan) : failure;
}

enum used_answer xfs_read_used(const struct source *source, struct used *used, struct diag *diag) {
    struct scan scan = {.used = used, .diag = diag};
    int known = xfs_open(&scan.fs, source, diag);
    if (known > 0 && read_all(&scan) != 0) {
        known = -1;
    }
    if (known > 0) {
        used->end = scan.fs.blocks * scan.fs.block_bytes;
    }
    free(scan.block);
    free(scan.groups);
    free(scan.now.items);
    free(scan.next.items);
    return known == 0 ? USED_UNKNOWN : known > 0 ? USED_KNOWN : USED_REFUSED;
}

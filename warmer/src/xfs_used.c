/**
 * What an XFS file system uses: all that its free-space B+trees (by block number, one an allocation group) do
 * not list (XFS Algorithms & Data Structures, "Allocation Groups").
 *
 * The trees of all groups are read level by level, so that a cold device fetches a level at once. Leaves come
 * in ascending order of their free extents; what lies between two extents is in use. That extents ascend, and
 * that they add up to what the group says is free, is checked.
 */
#include "xfs.h"

#include "bytes.h"
#include "used.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SUPER_BYTES 512u
#define MAGIC_SUPER 0x58465342u
#define MAGIC_AGF 0x58414746u
#define MAGIC_TREE 0x41425442u
#define MAGIC_TREE_V5 0x41423342u
#define HEADER_BYTES 16u
#define HEADER_BYTES_V5 56u
#define MAX_LEVELS 9u
/** 64 TiB in groups of 16 MiB, the smallest there are. */
#define MAX_GROUPS (1u << 22)
/** ftype sparse-inodes meta-uuid bigtime nrext64 exchange parent; with needsrepair nothing is certain. */
#define INCOMPAT_UNDERSTOOD 0xefu

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

static uint64_t byte_of(const struct scan *scan, uint64_t group, uint64_t block) {
    return (group * scan->fs.group_blocks + block) * scan->fs.block_bytes;
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

static bool is_power_of_two(uint64_t value) {
    return value != 0 && (value & (value - 1)) == 0;
}

/** Numbers that fit each other and the partition. */
static int check_super(struct scan *scan, const uint8_t *super) {
    struct xfs *fs = &scan->fs;
    uint64_t log_start = big64(super + 48);
    uint64_t log_blocks = big32(super + 96);
    uint32_t shift = super[124];
    bool sizes = is_power_of_two(fs->block_bytes) && fs->block_bytes >= 512 &&
                 fs->block_bytes <= XFS_MAX_BLOCK_BYTES && is_power_of_two(fs->sector_bytes) &&
                 fs->sector_bytes >= 512 && fs->sector_bytes <= fs->block_bytes * 8 && shift < 32;
    if (!sizes || fs->groups == 0 || fs->groups > MAX_GROUPS || fs->group_blocks < 64) {
        return refuse(scan, "its superblock contradicts itself");
    }
    uint64_t before = (uint64_t)(fs->groups - 1) * fs->group_blocks;
    if (fs->blocks <= before || fs->blocks - before > fs->group_blocks ||
        fs->blocks > fs->source->bytes / fs->block_bytes) {
        return refuse(scan, "it is larger than what holds it");
    }
    uint64_t log_block = log_start >> shift;
    log_block = log_block * fs->group_blocks + (log_start & ((UINT64_C(1) << shift) - 1));
    if (log_start == 0) {
        return refuse(scan, "its log is on another device");
    }
    if (log_start >> shift >= fs->groups || log_blocks == 0 || log_block > fs->blocks ||
        log_blocks > fs->blocks - log_block) {
        return refuse(scan, "its log lies outside");
    }
    fs->log_offset = log_block * fs->block_bytes;
    fs->log_bytes = log_blocks * fs->block_bytes;
    return 0;
}

static int open_super(struct scan *scan, const struct source *source) {
    uint8_t super[SUPER_BYTES];
    struct xfs *fs = &scan->fs;
    if (source_read(source, 0, super, sizeof super) != 0 || big32(super) != MAGIC_SUPER) {
        return 0;
    }
    uint32_t version = big16(super + 100) & 0xfu;
    *fs = (struct xfs){.source = source,
                       .blocks = big64(super + 8),
                       .block_bytes = big32(super + 4),
                       .sector_bytes = big16(super + 102),
                       .group_blocks = big32(super + 84),
                       .groups = big32(super + 88),
                       .is_v5 = version == 5};
    bool is_known = version == 4 || (version == 5 && (big32(super + 216) & ~INCOMPAT_UNDERSTOOD) == 0);
    if (!is_known || super[126] != 0) {
        return refuse(scan, "it has features that are not known here, needs repair or is being made");
    }
    return check_super(scan, super) == 0 ? 1 : -1;
}

/** The header of a group's free space. */
static int read_group_header(struct scan *scan, uint32_t number) {
    const struct xfs *fs = &scan->fs;
    struct group *group = &scan->groups[number];
    uint64_t offset = byte_of(scan, number, 0) + fs->sector_bytes;
    if (source_read(fs->source, offset, scan->block, SUPER_BYTES) != 0) {
        return refuse(scan, "a group's header cannot be read");
    }
    const uint8_t *header = scan->block;
    uint64_t blocks = fs->blocks - (uint64_t)number * fs->group_blocks;
    group->blocks = (uint32_t)(blocks < fs->group_blocks ? blocks : fs->group_blocks);
    group->root = big32(header + 16);
    group->levels = big32(header + 28);
    group->claimed_free = big32(header + 52);
    if (big32(header) != MAGIC_AGF || big32(header + 8) != number || big32(header + 12) != group->blocks ||
        group->levels == 0 || group->levels > MAX_LEVELS) {
        return refuse(scan, "a group's header is damaged");
    }
    /* Superblock, headers, and the roots of the trees, which mkfs puts behind them. */
    used_add_metadata(scan->used, fs->source, byte_of(scan, number, 0),
                      4 * (uint64_t)fs->sector_bytes + 8 * (uint64_t)fs->block_bytes);
    return 0;
}

static int read_group_headers(struct scan *scan) {
    struct extents list = {0};
    for (uint32_t i = 0; i < scan->fs.groups; i++) {
        uint64_t offset = byte_of(scan, i, 0) + scan->fs.sector_bytes;
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
    used_add(scan->used, scan->fs.source, byte_of(scan, number, group->cursor),
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
        uint64_t offset = byte_of(scan, scan->now.items[i].group, scan->now.items[i].block);
        if (extents_append(&list, offset, fs->block_bytes) != 0) {
            break;
        }
    }
    source_expect(fs->source, &list);
    int failure = 0;
    for (size_t i = 0; i < scan->now.length && failure == 0; i++) {
        const struct node *node = &scan->now.items[i];
        uint64_t offset = byte_of(scan, node->group, node->block);
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
        used_add(scan->used, scan->fs.source, byte_of(scan, i, group->cursor),
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
    int known = open_super(&scan, source);
    if (known > 0 && read_all(&scan) != 0) {
        known = -1;
    }
    if (known > 0) {
        used_add_tail(used, source, scan.fs.blocks * scan.fs.block_bytes);
    }
    free(scan.block);
    free(scan.groups);
    free(scan.now.items);
    free(scan.next.items);
    return known == 0 ? USED_UNKNOWN : known > 0 ? USED_KNOWN : USED_REFUSED;
}

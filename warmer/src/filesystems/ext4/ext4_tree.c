/**
 * The files of an ext4 file system (kernel.org, "ext4 Data Structures and Algorithms"). Metadata is read as
 * the journal's finished transactions leave it, so a snapshot of a mounted file system is understood as well.
 *
 * The blocks of a hashed directory's index look like blocks without entries, so all directories are read
 * alike. Files with the block lists of ext3 have no place here.
 */
#include "filesystems/ext4/ext4.h"
#include "filesystems/tree.h"

#include "base/bytes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ROOT_INODE 2u
#define SUPERBLOCK_OFFSET 1024u
#define INODE_CORE_BYTES 128u
#define INODE_MAP_OFFSET 0x28u
#define INODE_MAP_BYTES 60u
/** More than any inode has that is used; of a larger one, only the attributes behind this are missed. */
#define INODE_MOST_BYTES 1024u
#define ATTRIBUTES_MAGIC 0xea020000u
#define ATTRIBUTE_BYTES 16u
#define ATTRIBUTE_OF_SYSTEM 7u
/** Inodes before this one hold the file system's own files, unless the superblock names another. */
#define FIRST_INODE 11u
#define FLAG_EXTENTS 0x80000u
#define FLAG_INLINE 0x10000000u
#define TYPE_MASK 0xf000u
#define TYPE_DIRECTORY 0x4000u
#define TYPE_FILE 0x8000u
#define EXTENT_MAGIC 0xf30au
#define EXTENT_BYTES 12u
#define EXTENT_UNWRITTEN 32768u
#define MAX_EXTENT_DEPTH 5u
/** Inode tables are read in such pieces, and so many pieces are announced together. */
#define PIECE_BYTES 65536u
#define BATCH_PIECES 64u

struct state {
    struct ext4 fs;
    uint64_t first_inode;
    uint8_t *block; /**< A copy in the journal, read. */
};

/** The newest copy of a block that a finished transaction left in the journal, or NULL. */
static const struct ext4_journal_copy *newest_copy(const struct ext4 *fs, uint64_t block) {
    size_t count = 0;
    const struct ext4_journal_copy *copies = ext4_find_copies(fs, block, &count);
    while (count > 0 && copies[count - 1].rank >= fs->copies.finished) {
        count--;
    }
    return count == 0 ? NULL : &copies[count - 1];
}

/** Announce bytes where they are read: in the journal, where it has a newer copy. */
static void announce(const struct state *state, struct extents *list) {
    const struct ext4 *fs = &state->fs;
    struct extents places = {0};
    if (fs->copies.finished == 0) {
        source_expect(fs->source, list);
        return;
    }
    for (size_t i = 0; i < list->length; i++) {
        uint64_t end = list->items[i].start + list->items[i].count;
        for (uint64_t at = list->items[i].start; at < end;) {
            uint64_t block = at / fs->block_bytes;
            uint64_t stop = (block + 1) * fs->block_bytes < end ? (block + 1) * fs->block_bytes : end;
            const struct ext4_journal_copy *copy = newest_copy(fs, block);
            if (copy == NULL) {
                (void)extents_append(&places, at, stop - at);
            } else {
                (void)extents_append(&places, copy->copy * fs->block_bytes, fs->block_bytes);
            }
            at = stop;
        }
    }
    extents_clear(list);
    source_expect(fs->source, &places);
}

static void announce_in(const struct tree *tree, struct extents *list) {
    announce(tree->state, list);
}

/** Bytes within one block, as the newest finished transaction left them. */
static int read_within(struct state *state, uint64_t block, uint32_t within, uint8_t *to, size_t length) {
    const struct ext4 *fs = &state->fs;
    const struct ext4_journal_copy *copy = newest_copy(fs, block);
    if (copy == NULL) {
        return source_read(fs->source, block * fs->block_bytes + within, to, length);
    }
    int failure = ext4_read_copy(fs, copy, state->block);
    if (failure == 0) {
        memcpy(to, state->block + within, length);
    }
    return failure;
}

static int read_metadata(const struct tree *tree, uint64_t at, void *buffer, size_t length) {
    struct state *state = tree->state;
    uint8_t *to = buffer;
    int failure = 0;
    if (state->fs.copies.finished == 0) {
        return source_read(state->fs.source, at, buffer, length);
    }
    while (length > 0 && failure == 0) {
        uint32_t within = (uint32_t)(at % state->fs.block_bytes);
        size_t here = state->fs.block_bytes - within < length ? state->fs.block_bytes - within : length;
        failure = read_within(state, at / state->fs.block_bytes, within, to, here);
        to += here;
        at += here;
        length -= here;
    }
    return failure;
}

static void close_tree(struct tree *tree) {
    struct state *state = tree->state;
    if (state != NULL) {
        ext4_close(&state->fs);
        free(state->block);
        free(state);
    }
    tree->state = NULL;
}

static int64_t time_of(const uint8_t *low, const uint8_t *high_bits) {
    int64_t seconds = (int32_t)little32(low);
    return high_bits == NULL ? seconds : seconds + ((int64_t)(little32(high_bits) & 3) << 32);
}

static int open_tree(struct tree *tree, const struct source *source) {
    struct diag diag = {{0}};
    uint8_t time[4];
    uint8_t first_inode[4];
    uint8_t high = 0;
    struct state *state = calloc(1, sizeof *state);
    tree->state = state;
    if (state == NULL) {
        return -1;
    }
    int known = ext4_open(&state->fs, source, &diag);
    if (known <= 0) {
        return known;
    }
    state->block = malloc(state->fs.block_bytes);
    if (state->block == NULL || source_read(source, SUPERBLOCK_OFFSET + 0x30, time, sizeof time) != 0 ||
        source_read(source, SUPERBLOCK_OFFSET + 0x274, &high, 1) != 0 ||
        source_read(source, SUPERBLOCK_OFFSET + 0x54, first_inode, sizeof first_inode) != 0) {
        return -1;
    }
    tree->root = ROOT_INODE;
    state->first_inode = little32(first_inode) > FIRST_INODE ? little32(first_inode) : FIRST_INODE;
    tree->directory_block_bytes = state->fs.block_bytes;
    tree->written = (int64_t)((uint64_t)high << 32 | little32(time));
    state->fs.most_log_blocks = tree->journal_bytes / state->fs.block_bytes + 1;
    if (state->fs.needs_recovery) {
        /* What cannot be read of it is as if it had not been written. */
        (void)ext4_read_journal(&state->fs, &diag);
    }
    return 1;
}

static uint64_t descriptor_at(const struct ext4 *fs, uint64_t group) {
    uint64_t block = ext4_descriptor_block(fs, group / fs->descriptors_per_block);
    return block * fs->block_bytes + group % fs->descriptors_per_block * fs->descriptor_bytes;
}

/** Read the descriptor of a group; false if it cannot be used. */
static bool read_group(struct tree *tree, uint64_t number, struct ext4_group *group) {
    const struct ext4 *fs = &((struct state *)tree->state)->fs;
    uint8_t descriptor[64];
    size_t bytes = fs->descriptor_bytes < sizeof descriptor ? fs->descriptor_bytes : sizeof descriptor;
    if (read_metadata(tree, descriptor_at(fs, number), descriptor, bytes) != 0) {
        return false;
    }
    *group = ext4_decode_group(fs, descriptor);
    return group->inode_table < fs->blocks && fs->inode_table_blocks <= fs->blocks - group->inode_table;
}

static void locate(struct tree *tree, struct tree_inode *inodes, size_t count) {
    const struct state *state = tree->state;
    const struct ext4 *fs = &state->fs;
    struct extents list = {0};
    for (size_t i = 0; i < count; i++) {
        uint64_t group = (inodes[i].number - 1) / fs->inodes_per_group;
        inodes[i].at = UINT64_MAX;
        if (inodes[i].number > 0 && group < fs->groups) {
            uint64_t at = descriptor_at(fs, group);
            (void)extents_append(&list, at - at % fs->block_bytes, fs->block_bytes);
        }
    }
    announce(state, &list);
    for (size_t i = 0; i < count; i++) {
        struct ext4_group group;
        uint64_t number = (inodes[i].number - 1) / fs->inodes_per_group;
        if (inodes[i].number > 0 && number < fs->groups && read_group(tree, number, &group)) {
            uint64_t within = (inodes[i].number - 1) % fs->inodes_per_group * fs->inode_bytes;
            inodes[i].at = group.inode_table * fs->block_bytes + within;
            (void)extents_append(&list, inodes[i].at, fs->inode_bytes);
        }
    }
    announce(state, &list);
}

/** The rest of a content that lies in the inode: the value of the attribute system.data. */
static void add_inline_rest(const uint8_t *raw, uint32_t bytes, uint32_t extra, struct tree_inode *inode) {
    uint32_t first = INODE_CORE_BYTES + extra + 4;
    if (first > bytes || little32(raw + first - 4) != ATTRIBUTES_MAGIC) {
        return;
    }
    uint32_t at = first;
    while (at + ATTRIBUTE_BYTES <= bytes && little32(raw + at) != 0) {
        uint32_t name_bytes = raw[at];
        uint64_t value = (uint64_t)first + little16(raw + at + 2);
        uint32_t value_bytes = little32(raw + at + 8);
        bool is_data = raw[at + 1] == ATTRIBUTE_OF_SYSTEM && name_bytes == 4 &&
                       at + ATTRIBUTE_BYTES + 4 <= bytes &&
                       memcmp(raw + at + ATTRIBUTE_BYTES, "data", 4) == 0;
        if (is_data) {
            if (value <= bytes && value_bytes <= bytes - value) {
                memcpy(inode->fork + INODE_MAP_BYTES, raw + value, value_bytes);
                inode->fork_bytes += value_bytes;
            }
            return;
        }
        at += ATTRIBUTE_BYTES + (name_bytes + 3) / 4 * 4;
    }
}

/** Decode an inode of which `bytes` were read, 128 at least. */
static void decode(const uint8_t *raw, uint32_t bytes, struct tree_inode *inode) {
    uint32_t type = little16(raw) & TYPE_MASK;
    uint32_t extra = bytes > INODE_CORE_BYTES ? little16(raw + 0x80) : 0;
    extra = extra <= bytes - INODE_CORE_BYTES ? extra : 0;
    inode->is_good = type != 0 && little16(raw + 0x1a) > 0;
    inode->is_directory = type == TYPE_DIRECTORY;
    inode->is_file = type == TYPE_FILE;
    inode->bytes = (uint64_t)little32(raw + 0x6c) << 32 | little32(raw + 0x4);
    inode->inode_changed = time_of(raw + 0xc, extra >= 8 ? raw + 0x84 : NULL);
    inode->content_changed = time_of(raw + 0x10, extra >= 12 ? raw + 0x88 : NULL);
    inode->format = little32(raw + 0x20);
    inode->fork_bytes = INODE_MAP_BYTES;
    memcpy(inode->fork, raw + INODE_MAP_OFFSET, INODE_MAP_BYTES);
    if ((inode->format & FLAG_INLINE) != 0) {
        add_inline_rest(raw, bytes, extra, inode);
    }
}

static uint32_t bytes_to_decode(const struct ext4 *fs) {
    return fs->inode_bytes < INODE_MOST_BYTES ? fs->inode_bytes : INODE_MOST_BYTES;
}

static void read_inode(struct tree *tree, struct tree_inode *inode) {
    const struct ext4 *fs = &((struct state *)tree->state)->fs;
    uint8_t raw[INODE_MOST_BYTES];
    if (read_metadata(tree, inode->at, raw, bytes_to_decode(fs)) == 0) {
        decode(raw, bytes_to_decode(fs), inode);
    }
}

/** A walk through a file's tree of extents. */
struct walk {
    struct tree *tree;
    const struct ext4 *fs;
    struct tree_runs *runs;
    unsigned nodes; /**< How many may still be read. */
};

static int take_leaf(struct walk *walk, const uint8_t *entry) {
    const struct ext4 *fs = walk->fs;
    uint64_t count = little16(entry + 4);
    uint64_t start = (uint64_t)little16(entry + 6) << 32 | little32(entry + 8);
    bool is_written = count <= EXTENT_UNWRITTEN;
    count -= is_written ? 0 : EXTENT_UNWRITTEN;
    if (count == 0 || start >= fs->blocks || count > fs->blocks - start) {
        return -EIO;
    }
    return !is_written ? 0
                       : tree_add_run(walk->runs, (uint64_t)little32(entry) * fs->block_bytes,
                                      start * fs->block_bytes, count * fs->block_bytes);
}

static int take_node(struct walk *walk, const uint8_t *node, uint32_t bytes, unsigned depth);

/** Read the node that an entry leads to. */
static int go_down(struct walk *walk, const uint8_t *entry, unsigned depth) {
    const struct ext4 *fs = walk->fs;
    uint64_t block = (uint64_t)little16(entry + 8) << 32 | little32(entry + 4);
    if (block >= fs->blocks || walk->nodes == 0) {
        return -EIO;
    }
    walk->nodes--;
    uint8_t *below = malloc(fs->block_bytes);
    int failure =
        below == NULL ? -ENOMEM : read_metadata(walk->tree, block * fs->block_bytes, below, fs->block_bytes);
    failure = failure != 0 ? failure : take_node(walk, below, fs->block_bytes, depth - 1);
    free(below);
    return failure;
}

/** Announce the nodes below this one together. */
static void expect_below(struct walk *walk, const uint8_t *node, uint32_t entries) {
    struct extents list = {0};
    for (uint32_t i = 0; i < entries && i < walk->nodes; i++) {
        const uint8_t *entry = node + EXTENT_BYTES * (i + 1);
        uint64_t block = (uint64_t)little16(entry + 8) << 32 | little32(entry + 4);
        (void)extents_append(&list, block * walk->fs->block_bytes, walk->fs->block_bytes);
    }
    announce(walk->tree->state, &list);
}

/** A node of the tree, which must be `depth` above the leaves. */
static int take_node(struct walk *walk, const uint8_t *node, uint32_t bytes, unsigned depth) {
    uint32_t entries = little16(node + 2);
    if (little16(node) != EXTENT_MAGIC || little16(node + 6) != depth ||
        entries > (bytes - EXTENT_BYTES) / EXTENT_BYTES) {
        return -EIO;
    }
    if (depth > 0 && entries > 1) {
        expect_below(walk, node, entries);
    }
    int failure = 0;
    for (uint32_t i = 0; i < entries && failure == 0; i++) {
        const uint8_t *entry = node + EXTENT_BYTES * (i + 1);
        failure = depth == 0 ? take_leaf(walk, entry) : go_down(walk, entry, depth);
    }
    return failure;
}

static int map(struct tree *tree, const struct tree_inode *inode, struct tree_runs *runs) {
    const struct ext4 *fs = &((struct state *)tree->state)->fs;
    struct walk walk = {.tree = tree, .fs = fs, .runs = runs, .nodes = TREE_NODES};
    unsigned depth = little16(inode->fork + 6);
    if ((inode->format & FLAG_EXTENTS) == 0 || depth > MAX_EXTENT_DEPTH) {
        return -ENOTSUP;
    }
    return take_node(&walk, inode->fork, INODE_MAP_BYTES, depth);
}

/** The entries in some bytes of a directory. */
static bool take_names(const struct ext4 *fs, const uint8_t *bytes, uint32_t length, tree_name_hook *take,
                       void *context) {
    uint32_t at = 0;
    while (at + 8 <= length) {
        const uint8_t *entry = bytes + at;
        uint32_t step = little16(entry + 4);
        uint32_t name_length = entry[6];
        if (step == 0 || step == 65535) {
            step = fs->block_bytes;
        }
        if (step < 8 || step > length - at || name_length > step - 8) {
            return true;
        }
        struct tree_name name = {
            .text = (const char *)entry + 8, .length = name_length, .inode = little32(entry)};
        name.kind = entry[7] == 0   ? TREE_UNKNOWN
                    : entry[7] == 1 ? TREE_FILE
                    : entry[7] == 2 ? TREE_DIRECTORY
                                    : TREE_OTHER;
        bool is_dots = name.length <= 2 && memcmp(name.text, "..", name.length) == 0;
        if (name.inode != 0 && !is_dots && !take(context, &name)) {
            return false;
        }
        at += step;
    }
    return true;
}

static bool inline_names(const struct tree *tree, const struct tree_inode *inode, tree_name_hook *take,
                         void *context) {
    const struct state *state = tree->state;
    if ((inode->format & FLAG_INLINE) == 0) {
        return false;
    }
    /* The first four bytes are the parent's inode; entries do not go from one place to the other. */
    if (take_names(&state->fs, inode->fork + 4, INODE_MAP_BYTES - 4, take, context)) {
        (void)take_names(&state->fs, inode->fork + INODE_MAP_BYTES, inode->fork_bytes - INODE_MAP_BYTES, take,
                         context);
    }
    return true;
}

static bool block_names(const struct tree *tree, const uint8_t *block, tree_name_hook *take, void *context) {
    const struct state *state = tree->state;
    return take_names(&state->fs, block, state->fs.block_bytes, take, context);
}

/** The inode tables that are read together. */
struct tables {
    struct tree *tree;
    struct extent pieces[BATCH_PIECES]; /**< First inode, and how many. */
    uint64_t places[BATCH_PIECES];      /**< Bytes of the source. */
    size_t count;
    uint8_t *buffer;
    tree_inode_hook *take;
    void *context;
};

/** The inodes of one piece; false once no more are wanted. */
static bool take_piece(struct tables *tables, const struct extent *piece, uint64_t place) {
    static const uint8_t unused[16];
    const struct state *state = tables->tree->state;
    const struct ext4 *fs = &state->fs;
    struct tree_inode inode;
    if (read_metadata(tables->tree, place, tables->buffer, piece->count * fs->inode_bytes) != 0) {
        return true;
    }
    for (uint64_t i = 0; i < piece->count; i++) {
        const uint8_t *raw = tables->buffer + i * fs->inode_bytes;
        inode.number = piece->start + i;
        if (memcmp(raw, unused, sizeof unused) != 0 && inode.number >= state->first_inode) {
            inode.at = place + i * fs->inode_bytes;
            decode(raw, bytes_to_decode(fs), &inode);
            if (inode.is_good && !tables->take(tables->context, &inode)) {
                return false;
            }
        }
    }
    return true;
}

/** Announce and take what is gathered; false once no more are wanted. */
static bool take_pieces(struct tables *tables) {
    const struct state *state = tables->tree->state;
    const struct ext4 *fs = &state->fs;
    struct extents list = {0};
    bool wants_more = true;
    for (size_t i = 0; i < tables->count; i++) {
        (void)extents_append(&list, tables->places[i], tables->pieces[i].count * fs->inode_bytes);
    }
    announce(state, &list);
    for (size_t i = 0; i < tables->count && wants_more; i++) {
        wants_more = take_piece(tables, &tables->pieces[i], tables->places[i]);
    }
    tables->count = 0;
    return wants_more;
}

/** Gather the pieces of a group's table, as far as it is in use; how many bytes are left. */
static uint64_t add_group(struct tables *tables, uint64_t number, uint64_t left, bool *wants_more) {
    const struct ext4 *fs = &((struct state *)tables->tree->state)->fs;
    struct ext4_group group;
    if (!read_group(tables->tree, number, &group) || group.has_no_inodes) {
        return left;
    }
    uint64_t inodes = fs->inodes_per_group;
    inodes -= group.unused_inodes < inodes ? group.unused_inodes : inodes;
    uint64_t each = PIECE_BYTES / fs->inode_bytes;
    for (uint64_t done = 0; done < inodes && left > 0 && *wants_more; done += each) {
        uint64_t count = inodes - done < each ? inodes - done : each;
        uint64_t bytes = count * fs->inode_bytes;
        tables->pieces[tables->count] = (struct extent){number * fs->inodes_per_group + done + 1, count};
        tables->places[tables->count++] = group.inode_table * fs->block_bytes + done * fs->inode_bytes;
        left -= bytes < left ? bytes : left;
        if (tables->count == BATCH_PIECES) {
            *wants_more = take_pieces(tables);
        }
    }
    return left;
}

static void each_inode(struct tree *tree, uint64_t most_bytes, tree_inode_hook *take, void *context) {
    const struct ext4 *fs = &((struct state *)tree->state)->fs;
    struct tables tables = {.tree = tree, .take = take, .context = context, .buffer = malloc(PIECE_BYTES)};
    bool wants_more = tables.buffer != NULL;
    uint64_t left = most_bytes;
    for (uint64_t group = 0; group < fs->groups && wants_more && left > 0; group++) {
        /* A descriptor costs as well, so that a file system of empty groups has an end. */
        left -= fs->descriptor_bytes < left ? fs->descriptor_bytes : left;
        left = add_group(&tables, group, left, &wants_more);
    }
    if (wants_more) {
        (void)take_pieces(&tables);
    }
    free(tables.buffer);
}

const struct tree_ops ext4_tree = {.name = "ext4",
                                   .open = open_tree,
                                   .close = close_tree,
                                   .locate = locate,
                                   .read_inode = read_inode,
                                   .map = map,
                                   .read = read_metadata,
                                   .announce = announce_in,
                                   .inline_names = inline_names,
                                   .block_names = block_names,
                                   .each_inode = each_inode};

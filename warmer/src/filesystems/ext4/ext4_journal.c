/**
 * Copies of metadata in an ext4 journal that is to be replayed (kernel.org, "Journal (jbd2)").
 *
 * Every copy from the journal's start on counts, whether its transaction was finished or not: the reader of
 * bitmaps takes the union of all. So commit blocks, checksums and revocations need no judgement here. The
 * journal ends where a block has not the sequence number that is next.
 */
#include "base/bytes.h"
#include "filesystems/ext4/ext4.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define JOURNAL_MAGIC 0xc03b3998u
#define HEADER_BYTES 12u
#define TYPE_DESCRIPTOR 1u
#define TYPE_COMMIT 2u
#define TYPE_SUPERBLOCK_2 4u
#define TYPE_REVOKE 5u
#define FEATURE_64BIT 0x2u
#define FEATURE_CHECKSUM_2 0x8u
#define FEATURE_CHECKSUM_3 0x10u
/** revoke 64bit async_commit csum_v2 csum_v3; with fast_commit, bitmaps lag behind. */
#define FEATURES_UNDERSTOOD 0x1fu
#define TAG_ESCAPED 1u
#define TAG_SAME_UUID 2u
#define TAG_LAST 8u
#define UUID_BYTES 16u
/** Blocks of the journal that are announced together. */
#define AHEAD_BYTES (UINT64_C(32) << 20)

struct journal {
    struct ext4 *fs;
    struct diag *diag;
    struct extents pieces; /**< Blocks of the file system, in the journal's order. */
    uint8_t *block;
    uint64_t length; /**< Blocks in pieces. */
    uint64_t first;  /**< The log is `first` .. `end`, and goes on at `first`. */
    uint64_t end;
    uint64_t at;       /**< The block of the log to look at next. */
    uint64_t expected; /**< Up to here blocks have been announced. */
    uint64_t taken;    /**< Blocks of the log gone over. */
    uint32_t features;
    uint32_t sequence;
};

static int refuse(struct journal *journal, const char *reason) {
    return diag_refuse(journal->diag, -1, "ext4: its journal must be replayed, and %s", reason);
}

/** The blocks that the journal lies in. */
static int find_pieces(struct journal *journal) {
    struct diag reason = {{0}};
    if (ext4_find_journal(journal->fs, &journal->pieces, &reason) != 0) {
        return refuse(journal, reason.text);
    }
    for (size_t i = 0; i < journal->pieces.length; i++) {
        journal->length += journal->pieces.items[i].count;
    }
    return 0;
}

/** Where a block of the journal lies in the file system. */
static uint64_t place(const struct journal *journal, uint64_t index) {
    for (size_t i = 0; i < journal->pieces.length; i++) {
        const struct extent *piece = &journal->pieces.items[i];
        if (index < piece->count) {
            return piece->start + index;
        }
        index -= piece->count;
    }
    return UINT64_MAX;
}

/** Announce what comes next of the log. */
static void look_ahead(struct journal *journal) {
    uint64_t bytes = journal->fs->block_bytes;
    if (journal->at < journal->expected) {
        return;
    }
    struct extents list = {0};
    uint64_t most = journal->fs->most_log_blocks;
    uint64_t ahead = AHEAD_BYTES / bytes;
    /* Where little may be read, little is announced. */
    uint64_t stop = journal->at + (most > 0 && most / 4 < ahead ? most / 4 + 1 : ahead);
    stop = stop < journal->end ? stop : journal->end;
    for (uint64_t i = journal->at; i < stop; i++) {
        if (extents_append(&list, place(journal, i) * bytes, bytes) != 0) {
            break;
        }
    }
    source_expect(journal->fs->source, &list);
    journal->expected = stop;
}

/** Read the block of the log that is next, and step over it. */
static int read_next(struct journal *journal) {
    look_ahead(journal);
    int failure = ext4_read_block(journal->fs, place(journal, journal->at), journal->block);
    return failure == 0 ? 0 : refuse(journal, "it cannot be read");
}

static uint64_t step(struct journal *journal) {
    uint64_t at = journal->at++;
    if (journal->at >= journal->end) {
        journal->at = journal->first;
        journal->expected = 0;
    }
    journal->taken++;
    return at;
}

static int remember(struct journal *journal, uint64_t block, uint64_t copy, bool is_escaped) {
    struct ext4_copies *copies = &journal->fs->copies;
    if (copies->length == copies->capacity) {
        size_t capacity = copies->capacity == 0 ? 256 : copies->capacity * 2;
        struct ext4_journal_copy *items = realloc(copies->items, capacity * sizeof *items);
        if (items == NULL) {
            return refuse(journal, "memory is short");
        }
        copies->items = items;
        copies->capacity = capacity;
    }
    copies->items[copies->length] = (struct ext4_journal_copy){
        .block = block, .copy = copy, .rank = (uint32_t)copies->length, .is_escaped = is_escaped};
    copies->length++;
    return 0;
}

/** Where a tag's flags are, how long it is, where the upper half of its block number is (0: nowhere). */
struct tag_shape {
    uint32_t flags_at, bytes, high_at;
};

static struct tag_shape shape_of_tags(uint32_t features) {
    bool is_64bit = (features & FEATURE_64BIT) != 0;
    if ((features & FEATURE_CHECKSUM_3) != 0) {
        return (struct tag_shape){4, 16, is_64bit ? 8 : 0};
    }
    uint32_t extra = (features & FEATURE_CHECKSUM_2) != 0 ? 2 : 0;
    return (struct tag_shape){6, (is_64bit ? 12 : 8) + extra, is_64bit ? 8 : 0};
}

/** The blocks that follow a descriptor block, one a tag. */
static int take_descriptor(struct journal *journal) {
    struct tag_shape shape = shape_of_tags(journal->features);
    bool has_checksum = (journal->features & (FEATURE_CHECKSUM_2 | FEATURE_CHECKSUM_3)) != 0;
    uint32_t end = journal->fs->block_bytes - (has_checksum ? 4 : 0);
    int failure = 0;
    uint32_t flags = 0;
    for (uint32_t at = HEADER_BYTES; at + shape.bytes <= end && (flags & TAG_LAST) == 0 && failure == 0;) {
        const uint8_t *tag = journal->block + at;
        flags = shape.flags_at == 4 ? big32(tag + 4) : big16(tag + 6);
        uint64_t high = shape.high_at == 0 ? 0 : big32(tag + shape.high_at);
        uint64_t copy = place(journal, step(journal));
        failure = remember(journal, high << 32 | big32(tag), copy, (flags & TAG_ESCAPED) != 0);
        at += shape.bytes + ((flags & TAG_SAME_UUID) != 0 ? 0 : UUID_BYTES);
    }
    return failure;
}

/** One block of the log that is not a copy; 1 when the log ends here. */
static int take_block(struct journal *journal) {
    int failure = read_next(journal);
    if (failure != 0) {
        return failure;
    }
    const uint8_t *block = journal->block;
    if (big32(block) != JOURNAL_MAGIC || big32(block + 8) != journal->sequence) {
        return 1;
    }
    step(journal);
    switch (big32(block + 4)) {
    case TYPE_DESCRIPTOR:
        return take_descriptor(journal);
    case TYPE_COMMIT:
        journal->fs->copies.finished = journal->fs->copies.length;
        journal->sequence++;
        return 0;
    case TYPE_REVOKE:
        return 0;
    default:
        return 1;
    }
}

/** The journal's own superblock; 1 when there is nothing to replay. */
static int open_log(struct journal *journal) {
    if (journal->length == 0 || ext4_read_block(journal->fs, place(journal, 0), journal->block) != 0) {
        return refuse(journal, "it cannot be read");
    }
    const uint8_t *super = journal->block;
    journal->end = big32(super + 0x10);
    journal->first = big32(super + 0x14);
    journal->sequence = big32(super + 0x18);
    journal->at = big32(super + 0x1c);
    journal->features = big32(super + 0x28);
    if (big32(super) != JOURNAL_MAGIC || big32(super + 4) != TYPE_SUPERBLOCK_2 ||
        big32(super + 0xc) != journal->fs->block_bytes || journal->end > journal->length ||
        journal->first == 0 || journal->first >= journal->end || journal->at >= journal->end) {
        return refuse(journal, "its superblock is damaged");
    }
    if ((journal->features & ~FEATURES_UNDERSTOOD) != 0) {
        return refuse(journal, "it has features that are not known here");
    }
    return journal->at == 0 ? 1 : journal->at < journal->first ? refuse(journal, "it is damaged") : 0;
}

static int by_block(const void *left, const void *right) {
    const struct ext4_journal_copy *a = left;
    const struct ext4_journal_copy *b = right;
    int by_place = (a->block > b->block) - (a->block < b->block);
    return by_place != 0 ? by_place : (a->rank > b->rank) - (a->rank < b->rank);
}

int ext4_read_journal(struct ext4 *fs, struct diag *diag) {
    struct journal journal = {.fs = fs, .diag = diag, .block = malloc(fs->block_bytes)};
    int failure = journal.block == NULL ? refuse(&journal, "memory is short") : find_pieces(&journal);
    if (failure == 0) {
        failure = open_log(&journal);
    }
    uint64_t most = fs->most_log_blocks > 0 ? fs->most_log_blocks : UINT64_MAX;
    while (failure == 0 && journal.taken < journal.end && journal.taken < most) {
        failure = take_block(&journal);
    }
    if (fs->copies.length > 1) {
        qsort(fs->copies.items, fs->copies.length, sizeof *fs->copies.items, by_block);
    }
    extents_clear(&journal.pieces);
    free(journal.block);
    return failure < 0 ? failure : 0;
}

#ifndef WARMER_MANIFEST_H
#define WARMER_MANIFEST_H

#include "base/diag.h"
#include "delta/sha256.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * A manifest says what a volume becomes: which packs of blocks are written to it, which blocks become zeros,
 * and which blocks it must hold already. It comes in parts; each is JSON lines of at most MANIFEST_BYTES with
 * a checksum in its last line, which also names the next part. warmer.1.md has the format.
 */
#define MANIFEST_BYTES (4u << 20)

/** The most blocks of a line that has `undo`. */
#define MANIFEST_UNDO_BLOCKS 512u

/** What the first line of each part says. */
struct manifest_head {
    char volume_id[32];
    char snapshot_id[32]; /**< What the volume becomes. */
    uint64_t volume_bytes;
    uint64_t part;         /**< From 0. */
    uint64_t blocks_total; /**< Of all parts, for progress; 0: not known yet. */
};

enum manifest_kind { MANIFEST_PACK, MANIFEST_ZEROS, MANIFEST_SAMPLE, MANIFEST_END };

/** One line after the first. Its text lives as long as the part. */
struct manifest_item {
    enum manifest_kind kind;
    const char *address;          /**< Of a pack, or of the next part; NULL: this was the last part. */
    const char *undo;             /**< Where what undoes a pack or zeros is kept; NULL: nowhere. */
    uint64_t bytes;               /**< Of a pack. */
    uint64_t blocks;              /**< Of a pack, or how many blocks become zeros. */
    uint64_t block;               /**< The first block that becomes zeros, or the one to compare. */
    uint8_t digest[SHA256_BYTES]; /**< Of a pack's index, or of the block to compare. */
};

/** Reads one part. */
struct manifest {
    char *text;
    size_t length;
    size_t at;
    size_t last; /**< Where the last line begins. */
    unsigned line;
    struct manifest_head head;
    uint64_t packs;
    uint64_t blocks;
};

/**
 * Take a part of `length` bytes; `text` has room for one more, belongs to the caller, and is changed while it
 * is read. Checks the checksum first. Returns 0, or WARMER_BAD_MANIFEST with the reason.
 */
int manifest_open(char *text, size_t length, struct manifest *manifest, struct diag *diag);

/** Read the next line. The last one is MANIFEST_END. Returns 0, or WARMER_BAD_MANIFEST with the reason. */
int manifest_next(struct manifest *manifest, struct manifest_item *item, struct diag *diag);

/** Whether this text may go to a downloading program: an https, http or file address, or an absolute path. */
bool manifest_address_is_valid(const char *address);

#endif

#ifndef WARMER_USED_H
#define WARMER_USED_H

#include "base/block_set.h"
#include "base/diag.h"
#include "base/extents.h"
#include "filesystems/source.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * Which blocks of a device are in use, as its file systems say.
 *
 * A block of 512 KiB is in use when any byte of it is. Nothing is ever taken out of the set: whoever finds
 * that he does not understand a part adds that part whole, and no block that holds something is left out.
 */
struct used {
    struct block_set *blocks; /**< Of the whole device; NULL: only `metadata` is asked for. */
    struct extents metadata;  /**< Blocks that hold the file systems' own structures. */
    bool is_short;            /**< Memory was, so that blocks in use may be missing. */
    char found[192];          /**< What was understood, for people: "ext4, ntfs". */
    char note[384];           /**< What was not, and why. */
};

/** An empty set for a device of `device_bytes`; 0 or -ENOMEM. */
int used_init(struct used *used, uint64_t device_bytes);

/** Free the memory. */
void used_clear(struct used *used);

/** Bytes of a source are in use; what lies beyond the source is left out. */
void used_add(struct used *used, const struct source *source, uint64_t offset, uint64_t length);

/** The same, and they are metadata. Without memory for the list only their place in the order is lost. */
void used_add_metadata(struct used *used, const struct source *source, uint64_t offset, uint64_t length);

/** Bit `i` of `bitmap`, lowest first, says whether `unit_bytes` at `offset + i * unit_bytes` are in use. */
void used_add_bits(struct used *used, const struct source *source, const uint8_t *bitmap, uint64_t bits,
                   uint64_t offset, uint64_t unit_bytes);

/**
 * The end of a partition, beyond its file system: its first and last MiB count as used, where volume managers
 * and boot sectors' copies live; what lies between belongs to nobody.
 */
void used_add_tail(struct used *used, const struct source *source, uint64_t offset);

/** Append to `found` or `note`, after a separator. */
void used_found(struct used *used, const char *name);
void used_note(struct used *used, const char *format, ...) __attribute__((format(printf, 2, 3)));

/** What a reader of a file system answers. */
enum used_answer {
    USED_UNKNOWN, /**< This is not the file system. */
    USED_KNOWN,   /**< It is, and all that it uses is in the set. */
    USED_REFUSED, /**< It is, but its word cannot be taken; the reason is in the diag. */
};

/** Reads one kind of file system on a partition (or a device without partitions). */
typedef enum used_answer used_reader(const struct source *source, struct used *used, struct diag *diag);

used_reader ext4_read_used, xfs_read_used, ntfs_read_used;

/** The same signature, but they find no more than where the metadata lies, with as few reads as that takes.
 */
used_reader ext4_find_metadata, xfs_find_metadata, ntfs_find_metadata;

/**
 * Read the partition tables and file systems of a whole device. True when at least one file system was
 * understood, so that the set may be smaller than the device; else every block is in the set, and the note
 * says why.
 */
bool used_scan(const struct source *device, struct used *used);

#endif

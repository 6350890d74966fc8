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
 * The blocks of a device that its file systems have in use.
 *
 * A block of 512 KiB is in use if any byte of it is. Blocks are only ever added. A reader that does not
 * understand a part of the device adds that part whole, so no block with content is left out.
 */
struct used {
    struct block_set *blocks; /**< The blocks in use; NULL if only `metadata` is wanted. */
    struct extents metadata;  /**< Blocks that hold the file systems' own structures. */
    uint64_t end;             /**< Where the file system that was read last ends, in bytes of its source. */
    bool is_short;            /**< Memory was short, so blocks in use may be missing. */
    char found[192];          /**< The file systems that were understood: "ext4, ntfs". */
    char note[384];           /**< What was not understood, and why. */
};

/** Begin with an empty set for a device of `device_bytes`. Returns 0 or -ENOMEM. */
int used_init(struct used *used, uint64_t device_bytes);

/** Free the memory. */
void used_clear(struct used *used);

/** Add the blocks of `length` bytes at `offset` of the source. Bytes beyond its end are left out. */
void used_add(struct used *used, const struct source *source, uint64_t offset, uint64_t length);

/** The same for metadata. If memory is short, the blocks are in use but not listed as metadata. */
void used_add_metadata(struct used *used, const struct source *source, uint64_t offset, uint64_t length);

/**
 * Add what a bitmap says is in use: bit `i`, lowest bit first, stands for `unit_bytes` at `offset` +
 * `i` * `unit_bytes`.
 */
void used_add_bits(struct used *used, const struct source *source, const uint8_t *bitmap, uint64_t bits,
                   uint64_t offset, uint64_t unit_bytes);

/** Append to `found` or `note`, with a separator. */
void used_found(struct used *used, const char *name);
void used_note(struct used *used, const char *format, ...) __attribute__((format(printf, 2, 3)));

/** The answer of a reader of one file system. */
enum used_answer {
    USED_UNKNOWN, /**< This is not the file system. */
    USED_KNOWN,   /**< It is, everything that it uses is in the set, and `end` says where it ends. */
    USED_REFUSED, /**< It is, but it cannot be trusted; the reason is in the diag. */
};

/** Reads one kind of file system from a partition, or from a device without partitions. */
typedef enum used_answer used_reader(const struct source *source, struct used *used, struct diag *diag);

used_reader ext4_read_used, xfs_read_used, ntfs_read_used;

/** These find only where the metadata lies, with as few reads as that takes. */
used_reader ext4_find_metadata, xfs_find_metadata, ntfs_find_metadata;

/**
 * Read the partition tables and file systems of a whole device. Returns true if at least one file system was
 * understood. Otherwise every block of the device is in the set, and the note says why.
 *
 * `written` has the blocks of the device that were ever written; NULL if that is not known. Blocks that are
 * written where nothing of the file system or the table can be are a sign that something else is there.
 */
bool used_scan(const struct source *device, const struct block_set *written, struct used *used);

#endif

#ifndef WARMER_BLOCK_SET_H
#define WARMER_BLOCK_SET_H

#include <stdbool.h>
#include <stdint.h>

/** EBS snapshots are kept in blocks of this size; the first read of any part of one fetches it. */
#define BLOCK_BYTES 524288u

/** "No such block." */
#define BLOCK_NONE UINT64_MAX

/**
 * Blocks of a device, one bit each where some of 1,024 neighbours are in and some are not; where all or none
 * are, the 1,024 take a pointer. So of the largest EBS volume (64 TiB) a set takes 1 MiB, and at most 256
 * bytes more for each extent in it, but never more than 17 MiB in all: a map of 134 million one-block extents
 * costs no more than one of a hundred thousand.
 */
struct block_set;

/** An empty set of the blocks 0 .. blocks-1; NULL when memory is short. */
struct block_set *block_set_create(uint64_t blocks);

/** Free the set; NULL is allowed. */
void block_set_destroy(struct block_set *set);

/** How many blocks the device has (not how many are in the set). */
uint64_t block_set_capacity(const struct block_set *set);

/** How many blocks are in the set. */
uint64_t block_set_count(const struct block_set *set);

/** Add `count` blocks from `start`, which must lie within the capacity; 0, or -ENOMEM with some added. */
int block_set_add(struct block_set *set, uint64_t start, uint64_t count);

/** Take these blocks out, which must lie within the capacity; 0, or -ENOMEM with some taken out. */
int block_set_remove(struct block_set *set, uint64_t start, uint64_t count);

/** From now on, adding these blocks one by one or in runs needs no memory; 0 or -ENOMEM. */
int block_set_reserve(struct block_set *set, uint64_t start, uint64_t count);

/** Take out what is not in `other`, which has the same capacity; 0 or -ENOMEM. */
int block_set_intersect(struct block_set *set, const struct block_set *other);

/**
 * Move to `other`, which has the same capacity, the blocks from `start` whose bits are set in `bits`, lowest
 * first, 8 a byte. `start` and the number of bits are multiples of 1,024, but for the capacity's end. 0 or
 * -ENOMEM.
 */
int block_set_move(struct block_set *set, uint64_t start, const uint8_t *bits, uint64_t bytes,
                   struct block_set *other);

/** Is this block in the set? False beyond the capacity. */
bool block_set_contains(const struct block_set *set, uint64_t block);

/** The lowest block at or after `from` that is in the set, or BLOCK_NONE. */
uint64_t block_set_next(const struct block_set *set, uint64_t from);

/** The same among the blocks before `end`. */
uint64_t block_set_next_before(const struct block_set *set, uint64_t from, uint64_t end);

/** The block with exactly `rank` lower ones in the set, or BLOCK_NONE. Linear in the capacity. */
uint64_t block_set_nth(const struct block_set *set, uint64_t rank);

/** An equal set of its own; NULL when memory is short. */
struct block_set *block_set_copy(const struct block_set *set);

/** Number of blocks that `bytes` occupy, the last one possibly in part. */
uint64_t blocks_of_bytes(uint64_t bytes);

/** Bytes of one block on a device of `device_bytes`; less than BLOCK_BYTES only for a partial last block. */
uint32_t block_length(uint64_t block, uint64_t device_bytes);

/** Bytes of all blocks in the set on a device of `device_bytes`. */
uint64_t block_set_bytes(const struct block_set *set, uint64_t device_bytes);

#endif

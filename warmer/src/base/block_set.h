#ifndef WARMER_BLOCK_SET_H
#define WARMER_BLOCK_SET_H

#include <stdbool.h>
#include <stdint.h>

/** The size of a block of an EBS snapshot. The first read of any part of a block fetches the block. */
#define BLOCK_BYTES 524288u

/** The answer that means "no such block". */
#define BLOCK_NONE UINT64_MAX

/**
 * A set of blocks of a device. 1,024 neighbours take one pointer if all or none of them are in the set, and
 * one bit each otherwise. For the largest EBS volume (64 TiB) a set takes 1 MiB and at most 256 bytes more
 * for each extent, but never more than 17 MiB.
 */
struct block_set;

/** Create an empty set for a device of `blocks` blocks. Returns NULL when memory is short. */
struct block_set *block_set_create(uint64_t blocks);

/** Free the set; NULL is allowed. */
void block_set_destroy(struct block_set *set);

/** How many blocks the device has (not how many are in the set). */
uint64_t block_set_capacity(const struct block_set *set);

/** How many blocks are in the set. */
uint64_t block_set_count(const struct block_set *set);

/** Add `count` blocks from `start`, all within the capacity. Returns 0, or -ENOMEM after adding some. */
int block_set_add(struct block_set *set, uint64_t start, uint64_t count);

/** Remove `count` blocks from `start`, all within the capacity. Returns 0, or -ENOMEM after removing some. */
int block_set_remove(struct block_set *set, uint64_t start, uint64_t count);

/** Allocate what adding these blocks will need, so that adding them cannot fail. Returns 0 or -ENOMEM. */
int block_set_reserve(struct block_set *set, uint64_t start, uint64_t count);

/** Remove the blocks that are not in `other`, which has the same capacity. Returns 0 or -ENOMEM. */
int block_set_intersect(struct block_set *set, const struct block_set *other);

/**
 * Move blocks from `set` to `other`, which has the same capacity: bit i of `bits`, lowest bit first, stands
 * for block `start` + i. `start` is a multiple of 1,024; so is the number of bits, except at the capacity's
 * end. Returns 0 or -ENOMEM.
 */
int block_set_move(struct block_set *set, uint64_t start, const uint8_t *bits, uint64_t bytes,
                   struct block_set *other);

/** Whether this block is in the set; false beyond the capacity. */
bool block_set_contains(const struct block_set *set, uint64_t block);

/** The lowest block of the set at or after `from`, or BLOCK_NONE. */
uint64_t block_set_next(const struct block_set *set, uint64_t from);

/** The lowest block of the set at or after `from` and before `end`, or BLOCK_NONE. */
uint64_t block_set_next_before(const struct block_set *set, uint64_t from, uint64_t end);

/** The block of the set that has `rank` lower ones, or BLOCK_NONE. Its time is linear in the capacity. */
uint64_t block_set_nth(const struct block_set *set, uint64_t rank);

/** Create an equal set. Returns NULL when memory is short. */
struct block_set *block_set_copy(const struct block_set *set);

/** The number of blocks that `bytes` occupy; the last block may be partial. */
uint64_t blocks_of_bytes(uint64_t bytes);

/** The bytes of a block on a device of `device_bytes`: BLOCK_BYTES, or less for a partial last block. */
uint32_t block_length(uint64_t block, uint64_t device_bytes);

/** The bytes of all blocks of the set on a device of `device_bytes`. */
uint64_t block_set_bytes(const struct block_set *set, uint64_t device_bytes);

#endif

#ifndef WARMER_PLAN_H
#define WARMER_PLAN_H

#include "base/block_set.h"
#include "base/extents.h"

#include <stdint.h>

/** The order of reads: each wanted block once, the blocks that come first before the rest. */
struct plan;

/** Plan to read the blocks of `wanted`, which must stay as it is. Returns NULL when memory is short. */
struct plan *plan_create(const struct block_set *wanted);

/**
 * Put these blocks before the rest, in the order of the list, but after earlier lists. Blocks that are not
 * wanted or were given already are left out. The list is copied. Returns 0, or -ENOMEM without any change.
 */
int plan_put_first(struct plan *plan, const struct extents *list);

/**
 * The same for the list that was asked for (`--first`), before all others: plan_leading counts its blocks. No
 * block is in the list twice.
 */
int plan_put_leading(struct plan *plan, const struct extents *list);

/** How many blocks of that list are wanted and not given yet. */
uint64_t plan_leading(const struct plan *plan);

/** How many blocks of the list are in the set. No block is in the list twice. */
uint64_t plan_count(const struct extents *list, const struct block_set *set);

/**
 * Cut the list behind its first `most` blocks that are in the set: others do not count. No block is in the
 * list twice.
 */
void plan_shorten(struct extents *list, const struct block_set *set, uint64_t most);

/** Free the plan; NULL is allowed. */
void plan_destroy(struct plan *plan);

/** Give the next block; BLOCK_NONE when all are given. No block is given twice. */
uint64_t plan_next(struct plan *plan);

/**
 * Give the next block and up to `most` - 1 blocks that follow it directly; `count` is the number of all.
 * With a block that comes first only others of the same extent are given, so that nothing else delays it.
 */
uint64_t plan_next_run(struct plan *plan, unsigned most, uint32_t *count);

/** The number of blocks that are not given yet. */
uint64_t plan_remaining(const struct plan *plan);

#endif

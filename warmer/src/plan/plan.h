#ifndef WARMER_PLAN_H
#define WARMER_PLAN_H

#include "base/block_set.h"
#include "base/extents.h"

#include <stdint.h>

/** Which block to read next: each block of the map once, what is wanted first before the rest. */
struct plan;

/** Plan to read the blocks of `wanted`, which must stay as it is meanwhile; NULL when memory is short. */
struct plan *plan_create(const struct block_set *wanted);

/**
 * Give these blocks before the others, in the order of the list, but after what was put first before. Blocks
 * that are not wanted, or were given already, are left out. May be called at any time. The list is copied; 0,
 * or -ENOMEM and then the order stays as it was.
 */
int plan_put_first(struct plan *plan, const struct extents *list);

/** Free the plan; NULL is allowed. */
void plan_destroy(struct plan *plan);

/** The next block, never one given before; BLOCK_NONE when all are given. */
uint64_t plan_next(struct plan *plan);

/**
 * The next block and up to `most` - 1 that follow it directly; how many in all in `count`. What is wanted
 * first is given one by one, so that nothing comes before it.
 */
uint64_t plan_next_run(struct plan *plan, unsigned most, uint32_t *count);

/** Blocks not given yet. */
uint64_t plan_remaining(const struct plan *plan);

#endif

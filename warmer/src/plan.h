#ifndef WARMER_PLAN_H
#define WARMER_PLAN_H

#include "block_set.h"
#include "extents.h"

#include <stdint.h>

/** Which block to read next: each block of the map once, what is wanted first before the rest. */
struct plan;

/**
 * Plan to read the blocks of `wanted`, those in `first` before the others in the order of that list. Blocks
 * of `first` that are not wanted are left out. Both are copied; NULL when memory is short.
 */
struct plan *plan_create(const struct block_set *wanted, const struct extents *first);

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

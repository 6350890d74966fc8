#include "plan.h"

#include <stdlib.h>
#include <string.h>

struct plan {
    struct block_set *pending; /**< Not given yet. */
    struct extent *first;
    size_t first_length;
    size_t first_index;    /**< The extent of `first` being given. */
    uint64_t first_offset; /**< Blocks of that extent already looked at. */
    uint64_t cursor;       /**< Every pending block is at or after this one, once `first` is done. */
};

struct plan *plan_create(const struct block_set *wanted, const struct extents *first) {
    struct plan *plan = calloc(1, sizeof *plan);
    if (plan == NULL) {
        return NULL;
    }
    plan->pending = block_set_copy(wanted);
    plan->first_length = first == NULL ? 0 : first->length;
    plan->first = malloc((plan->first_length + 1) * sizeof *plan->first);
    if (plan->pending == NULL || plan->first == NULL) {
        plan_destroy(plan);
        return NULL;
    }
    if (plan->first_length > 0) {
        memcpy(plan->first, first->items, plan->first_length * sizeof *plan->first);
    }
    return plan;
}

void plan_destroy(struct plan *plan) {
    if (plan != NULL) {
        block_set_destroy(plan->pending);
        free(plan->first);
        free(plan);
    }
}

/** The next pending block within `first`, or BLOCK_NONE. */
static uint64_t next_first(struct plan *plan) {
    while (plan->first_index < plan->first_length) {
        const struct extent *extent = &plan->first[plan->first_index];
        uint64_t block = block_set_next(plan->pending, extent->start + plan->first_offset);
        if (block != BLOCK_NONE && block - extent->start < extent->count) {
            plan->first_offset = block - extent->start + 1;
            return block;
        }
        plan->first_index++;
        plan->first_offset = 0;
    }
    return BLOCK_NONE;
}

uint64_t plan_next(struct plan *plan) {
    uint64_t block = next_first(plan);
    if (block == BLOCK_NONE) {
        block = block_set_next(plan->pending, plan->cursor);
        plan->cursor = block == BLOCK_NONE ? BLOCK_NONE : block + 1;
    }
    if (block != BLOCK_NONE) {
        block_set_remove(plan->pending, block);
    }
    return block;
}

uint64_t plan_next_run(struct plan *plan, unsigned most, uint32_t *count) {
    uint64_t block = plan_next(plan);
    *count = block != BLOCK_NONE;
    bool is_rest = plan->first_index >= plan->first_length;
    while (block != BLOCK_NONE && is_rest && *count < most &&
           block_set_remove(plan->pending, block + *count)) {
        (*count)++;
    }
    if (*count > 1) {
        plan->cursor = block + *count;
    }
    return block;
}

uint64_t plan_remaining(const struct plan *plan) {
    return block_set_count(plan->pending);
}

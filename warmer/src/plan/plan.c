#include "plan/plan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct plan {
    const struct block_set *wanted;
    struct block_set *given; /**< What was given because it was put first; NULL: nothing was put first. */
    struct extent *first;
    size_t first_length;
    size_t leading_length; /**< So many extents of `first` were put with plan_put_leading. */
    uint64_t leading;      /**< Blocks of these that are not given. */
    size_t first_index;    /**< The extent of `first` being given. */
    uint64_t first_offset; /**< Blocks of that extent already looked at. */
    uint64_t cursor;       /**< Every wanted block before this one is given. */
    uint64_t remaining;
};

struct plan *plan_create(const struct block_set *wanted) {
    struct plan *plan = calloc(1, sizeof *plan);
    if (plan != NULL) {
        plan->wanted = wanted;
        plan->remaining = block_set_count(wanted);
    }
    return plan;
}

/** Room for the bits of all blocks of the list, so that giving one of them cannot fail. */
static int reserve(struct plan *plan, const struct extents *list) {
    if (plan->given == NULL) {
        plan->given = block_set_create(block_set_capacity(plan->wanted));
    }
    int failure = plan->given == NULL ? -ENOMEM : 0;
    for (size_t i = 0; i < list->length && failure == 0; i++) {
        failure = block_set_reserve(plan->given, list->items[i].start, list->items[i].count);
    }
    return failure;
}

int plan_put_first(struct plan *plan, const struct extents *list) {
    if (list->length == 0) {
        return 0;
    }
    size_t length = plan->first_length + list->length;
    struct extent *first = realloc(plan->first, length * sizeof *first);
    if (first == NULL) {
        return -ENOMEM;
    }
    plan->first = first;
    if (reserve(plan, list) != 0) {
        return -ENOMEM;
    }
    memcpy(first + plan->first_length, list->items, list->length * sizeof *first);
    plan->first_length = length;
    return 0;
}

int plan_put_leading(struct plan *plan, const struct extents *list) {
    int failure = plan_put_first(plan, list);
    if (failure == 0) {
        plan->leading_length = plan->first_length;
        plan->leading = plan_count(list, plan->wanted);
    }
    return failure;
}

uint64_t plan_leading(const struct plan *plan) {
    return plan->leading;
}

uint64_t plan_count(const struct extents *list, const struct block_set *set) {
    uint64_t count = 0;
    for (size_t i = 0; i < list->length; i++) {
        uint64_t end = list->items[i].start + list->items[i].count;
        uint64_t block = block_set_next_before(set, list->items[i].start, end);
        for (; block != BLOCK_NONE; block = block_set_next_before(set, block + 1, end)) {
            count++;
        }
    }
    return count;
}

void plan_shorten(struct extents *list, const struct block_set *set, uint64_t most) {
    for (size_t i = 0; i < list->length; i++) {
        struct extent *extent = &list->items[i];
        uint64_t end = extent->start + extent->count;
        uint64_t block = block_set_next_before(set, extent->start, end);
        for (; block != BLOCK_NONE; block = block_set_next_before(set, block + 1, end)) {
            if (most == 0) {
                extent->count = block - extent->start;
                list->length = i + (extent->count > 0);
                return;
            }
            most--;
        }
    }
}

void plan_destroy(struct plan *plan) {
    if (plan != NULL) {
        block_set_destroy(plan->given);
        free(plan->first);
        free(plan);
    }
}

static bool is_given(const struct plan *plan, uint64_t block) {
    return block < plan->cursor || (plan->given != NULL && block_set_contains(plan->given, block));
}

/** The first block from `from` to before `end` that is wanted and not given, or BLOCK_NONE. */
static uint64_t find(const struct plan *plan, uint64_t from, uint64_t end) {
    uint64_t block = block_set_next_before(plan->wanted, from > plan->cursor ? from : plan->cursor, end);
    while (block != BLOCK_NONE && is_given(plan, block)) {
        block = block_set_next_before(plan->wanted, block + 1, end);
    }
    return block;
}

/** Give a block of the extent being given. */
static void give_first(struct plan *plan, uint64_t block) {
    plan->first_offset = block - plan->first[plan->first_index].start + 1;
    (void)block_set_add(plan->given, block, 1); /* There is room: it was reserved. */
    plan->remaining--;
    plan->leading -= plan->first_index < plan->leading_length;
}

/** The next block within `first`, or BLOCK_NONE. */
static uint64_t next_first(struct plan *plan) {
    while (plan->first_index < plan->first_length) {
        const struct extent *extent = &plan->first[plan->first_index];
        uint64_t block = find(plan, extent->start + plan->first_offset, extent->start + extent->count);
        if (block != BLOCK_NONE) {
            give_first(plan, block);
            return block;
        }
        plan->first_index++;
        plan->first_offset = 0;
    }
    return BLOCK_NONE;
}

/** Whether the extent being given has this block, and it is still to be given. */
static bool is_next_first(const struct plan *plan, uint64_t block) {
    const struct extent *extent = &plan->first[plan->first_index];
    return block - extent->start < extent->count && block_set_contains(plan->wanted, block) &&
           !is_given(plan, block);
}

uint64_t plan_next_run(struct plan *plan, unsigned most, uint32_t *count) {
    uint64_t block = next_first(plan);
    *count = block != BLOCK_NONE;
    if (block != BLOCK_NONE) {
        for (; *count < most && is_next_first(plan, block + *count); ++*count) {
            give_first(plan, block + *count);
        }
        return block;
    }
    block = find(plan, plan->cursor, BLOCK_NONE);
    if (block == BLOCK_NONE) {
        plan->cursor = BLOCK_NONE;
        return block;
    }
    do {
        ++*count;
        plan->cursor = block + *count;
        plan->remaining--;
    } while (*count < most && block_set_contains(plan->wanted, block + *count) &&
             !is_given(plan, block + *count));
    return block;
}

uint64_t plan_next(struct plan *plan) {
    uint32_t count = 0;
    return plan_next_run(plan, 1, &count);
}

uint64_t plan_remaining(const struct plan *plan) {
    return plan->remaining;
}

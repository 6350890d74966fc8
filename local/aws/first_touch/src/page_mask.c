#include "blocks.h"

/* The bits [first, end) of a 64-bit word that starts at bit `base`. */
static uint64_t word_bits(uint64_t first, uint64_t end, uint64_t base) {
    uint64_t from = first > base ? first - base : 0;
    uint64_t to = end > base ? end - base : 0;
    uint64_t below_to;

    if (to > 64)
        to = 64;
    if (from >= to)
        return 0;
    below_to = to == 64 ? UINT64_MAX : (UINT64_C(1) << to) - 1;
    return below_to & ~((UINT64_C(1) << from) - 1);
}

static struct page_mask from_range(uint64_t first, uint64_t end) {
    return (struct page_mask){{word_bits(first, end, 0), word_bits(first, end, 64)}};
}

struct page_mask page_mask_touched(uint64_t start, uint64_t end) {
    return from_range(start / PAGE_BYTES, (end + PAGE_BYTES - 1) / PAGE_BYTES);
}

struct page_mask page_mask_covered(uint64_t start, uint64_t end) {
    return from_range((start + PAGE_BYTES - 1) / PAGE_BYTES, end / PAGE_BYTES);
}

struct page_mask page_mask_all(void) {
    return from_range(0, BLOCK_PAGES);
}

bool page_mask_is_empty(struct page_mask mask) {
    return !mask.word[0] && !mask.word[1];
}

struct page_mask page_mask_and(struct page_mask left, struct page_mask right) {
    return (struct page_mask){{left.word[0] & right.word[0], left.word[1] & right.word[1]}};
}

struct page_mask page_mask_without(struct page_mask left, struct page_mask right) {
    return (struct page_mask){{left.word[0] & ~right.word[0], left.word[1] & ~right.word[1]}};
}

struct page_mask page_mask_or(struct page_mask left, struct page_mask right) {
    return (struct page_mask){{left.word[0] | right.word[0], left.word[1] | right.word[1]}};
}

unsigned page_mask_count(struct page_mask mask) {
    return (unsigned)(__builtin_popcountll(mask.word[0]) + __builtin_popcountll(mask.word[1]));
}

unsigned page_mask_first(struct page_mask mask) {
    if (mask.word[0])
        return (unsigned)__builtin_ctzll(mask.word[0]);
    return 64U + (unsigned)__builtin_ctzll(mask.word[1]);
}

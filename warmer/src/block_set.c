#include "block_set.h"

#include <stdlib.h>
#include <string.h>

#define WORD_BITS 64u

struct block_set {
    uint64_t capacity;
    uint64_t count;
    uint64_t words;
    uint64_t *bits;
};

struct block_set *block_set_create(uint64_t blocks) {
    struct block_set *set = calloc(1, sizeof *set);
    if (set == NULL) {
        return NULL;
    }
    set->capacity = blocks;
    set->words = blocks / WORD_BITS + (blocks % WORD_BITS != 0);
    if (set->words <= SIZE_MAX / sizeof *set->bits) {
        set->bits = calloc(set->words + 1, sizeof *set->bits);
    }
    if (set->bits == NULL) {
        free(set);
        return NULL;
    }
    return set;
}

void block_set_destroy(struct block_set *set) {
    if (set != NULL) {
        free(set->bits);
        free(set);
    }
}

struct block_set *block_set_copy(const struct block_set *set) {
    struct block_set *copy = block_set_create(set->capacity);
    if (copy != NULL) {
        memcpy(copy->bits, set->bits, set->words * sizeof *set->bits);
        copy->count = set->count;
    }
    return copy;
}

uint64_t block_set_capacity(const struct block_set *set) {
    return set->capacity;
}

uint64_t block_set_count(const struct block_set *set) {
    return set->count;
}

/** Set `mask` in one word and count what is new. */
static void add_mask(struct block_set *set, uint64_t word, uint64_t mask) {
    set->count += (uint64_t)__builtin_popcountll(mask & ~set->bits[word]);
    set->bits[word] |= mask;
}

void block_set_add(struct block_set *set, uint64_t start, uint64_t count) {
    while (count > 0) {
        uint64_t first_bit = start % WORD_BITS;
        uint64_t take = WORD_BITS - first_bit < count ? WORD_BITS - first_bit : count;
        uint64_t ones = take == WORD_BITS ? UINT64_MAX : (UINT64_C(1) << take) - 1;
        add_mask(set, start / WORD_BITS, ones << first_bit);
        start += take;
        count -= take;
    }
}

bool block_set_contains(const struct block_set *set, uint64_t block) {
    return block < set->capacity && (set->bits[block / WORD_BITS] >> (block % WORD_BITS) & 1) != 0;
}

void block_set_intersect(struct block_set *set, const struct block_set *other) {
    set->count = 0;
    for (uint64_t word = 0; word < set->words; word++) {
        set->bits[word] &= other->bits[word];
        set->count += (uint64_t)__builtin_popcountll(set->bits[word]);
    }
}

bool block_set_remove(struct block_set *set, uint64_t block) {
    if (!block_set_contains(set, block)) {
        return false;
    }
    set->bits[block / WORD_BITS] &= ~(UINT64_C(1) << (block % WORD_BITS));
    set->count--;
    return true;
}

uint64_t block_set_next(const struct block_set *set, uint64_t from) {
    if (from >= set->capacity) {
        return BLOCK_NONE;
    }
    uint64_t word = from / WORD_BITS;
    uint64_t bits = set->bits[word] & (UINT64_MAX << (from % WORD_BITS));
    while (bits == 0) {
        if (++word == set->words) {
            return BLOCK_NONE;
        }
        bits = set->bits[word];
    }
    return word * WORD_BITS + (uint64_t)__builtin_ctzll(bits);
}

uint64_t block_set_nth(const struct block_set *set, uint64_t rank) {
    if (rank >= set->count) {
        return BLOCK_NONE;
    }
    uint64_t word = 0;
    uint64_t here = (uint64_t)__builtin_popcountll(set->bits[0]);
    while (rank >= here) {
        rank -= here;
        here = (uint64_t)__builtin_popcountll(set->bits[++word]);
    }
    uint64_t bits = set->bits[word];
    for (; rank > 0; rank--) {
        bits &= bits - 1;
    }
    return word * WORD_BITS + (uint64_t)__builtin_ctzll(bits);
}

uint64_t blocks_of_bytes(uint64_t bytes) {
    return bytes / BLOCK_BYTES + (bytes % BLOCK_BYTES != 0);
}

uint32_t block_length(uint64_t block, uint64_t device_bytes) {
    uint64_t rest = device_bytes - block * BLOCK_BYTES;
    return rest < BLOCK_BYTES ? (uint32_t)rest : BLOCK_BYTES;
}

uint64_t block_set_bytes(const struct block_set *set, uint64_t device_bytes) {
    uint64_t bytes = set->count * BLOCK_BYTES;
    uint64_t last = blocks_of_bytes(device_bytes) - 1;
    if (device_bytes > 0 && block_set_contains(set, last)) {
        bytes -= BLOCK_BYTES - block_length(last, device_bytes);
    }
    return bytes;
}

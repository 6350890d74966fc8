/**
 * Two levels: for every 1,024 blocks, a pointer to their bits. If none or all of them are in the set, it
 * points to constant bits that all sets share, so that reading needs no special case.
 */
#include "base/block_set_chunks.h"

#include "base/bytes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FOUR_FULL UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX
const uint64_t block_set_nothing[CHUNK_WORDS];
const uint64_t block_set_everything[CHUNK_WORDS] = {FOUR_FULL, FOUR_FULL, FOUR_FULL, FOUR_FULL};

struct block_set *block_set_create(uint64_t blocks) {
    struct block_set *set = calloc(1, sizeof *set);
    if (set == NULL) {
        return NULL;
    }
    set->capacity = blocks;
    set->chunk_count = blocks / CHUNK_BLOCKS + (blocks % CHUNK_BLOCKS != 0);
    if (set->chunk_count < SIZE_MAX / sizeof *set->chunks) {
        set->chunks = malloc((size_t)(set->chunk_count + 1) * sizeof *set->chunks);
    }
    if (set->chunks == NULL) {
        free(set);
        return NULL;
    }
    for (uint64_t i = 0; i < set->chunk_count; i++) {
        set->chunks[i] = block_set_nothing;
    }
    return set;
}

/** Each slab has twice the room of the one before, up to 256 KiB. */
#define FEWEST_CHUNKS 8u
#define MOST_CHUNKS 2048u

/** Room for a chunk; NULL when memory is short. */
static uint64_t *take_chunk(struct block_set *set) {
    uint64_t *chunk = set->spare;
    if (chunk != NULL) {
        memcpy(&set->spare, chunk, sizeof set->spare);
        return chunk;
    }
    if (set->slab_used == set->slab_chunks) {
        uint32_t twice = set->slab_chunks == 0 ? FEWEST_CHUNKS : set->slab_chunks * 2;
        uint32_t chunks = twice < MOST_CHUNKS ? twice : MOST_CHUNKS;
        struct block_slab *slab = malloc(sizeof *slab + (size_t)chunks * CHUNK_BYTES);
        if (slab == NULL) {
            return NULL;
        }
        slab->next = set->slabs;
        set->slabs = slab;
        set->slab_chunks = chunks;
        set->slab_used = 0;
    }
    return set->slabs->words + (size_t)set->slab_used++ * CHUNK_WORDS;
}

/** Free the memory of a chunk, and put `shared` in its place. */
static void share(struct block_set *set, uint64_t index, const uint64_t *shared) {
    if (!block_set_is_shared(set->chunks[index])) {
        uint64_t *chunk = (uint64_t *)set->chunks[index];
        memcpy(chunk, &set->spare, sizeof set->spare);
        set->spare = chunk;
    }
    set->chunks[index] = shared;
}

/** The chunk's bits, to be written to; NULL when memory is short. */
static uint64_t *own(struct block_set *set, uint64_t index) {
    if (block_set_is_shared(set->chunks[index])) {
        uint64_t *bits = take_chunk(set);
        if (bits == NULL) {
            return NULL;
        }
        memcpy(bits, set->chunks[index], CHUNK_BYTES);
        set->chunks[index] = bits;
    }
    return (uint64_t *)set->chunks[index];
}

void block_set_destroy(struct block_set *set) {
    if (set != NULL) {
        while (set->slabs != NULL) {
            struct block_slab *slab = set->slabs;
            set->slabs = slab->next;
            free(slab);
        }
        free(set->chunks);
        free(set);
    }
}

struct block_set *block_set_copy(const struct block_set *set) {
    struct block_set *copy = block_set_create(set->capacity);
    for (uint64_t i = 0; copy != NULL && i < set->chunk_count; i++) {
        copy->chunks[i] = set->chunks[i];
        if (!block_set_is_shared(set->chunks[i])) {
            copy->chunks[i] = block_set_nothing;
            uint64_t *bits = own(copy, i);
            if (bits == NULL) {
                block_set_destroy(copy);
                return NULL;
            }
            memcpy(bits, set->chunks[i], CHUNK_BYTES);
        }
    }
    if (copy != NULL) {
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

/** Share a chunk that is as `shared` is. */
static void collapse(struct block_set *set, uint64_t index, const uint64_t *shared) {
    if (memcmp(set->chunks[index], shared, CHUNK_BYTES) == 0) {
        share(set, index, shared);
    }
}

/** Put `take` blocks from `first` of a chunk in, or take them out; 0 or -ENOMEM. */
static int change_part(struct block_set *set, uint64_t index, uint64_t first, uint64_t take,
                       const uint64_t *goal) {
    uint64_t *bits = set->chunks[index] == goal ? NULL : own(set, index);
    if (bits == NULL) {
        return set->chunks[index] == goal ? 0 : -ENOMEM;
    }
    bool may_collapse = false;
    while (take > 0) {
        uint64_t word = first / WORD_BITS;
        uint64_t bit = first % WORD_BITS;
        uint64_t here = WORD_BITS - bit < take ? WORD_BITS - bit : take;
        uint64_t ones = here == WORD_BITS ? UINT64_MAX : (UINT64_C(1) << here) - 1;
        uint64_t changed = (bits[word] ^ *goal) & ones << bit;
        bits[word] ^= changed;
        uint64_t many = changed == 0 || here == 1 ? changed != 0 : (uint64_t)__builtin_popcountll(changed);
        set->count = goal == block_set_everything ? set->count + many : set->count - many;
        may_collapse |= bits[word] == *goal;
        first += here;
        take -= here;
    }
    if (may_collapse) {
        collapse(set, index, goal);
    }
    return 0;
}

/** Make blocks what they are in `goal`: in or out; 0 or -ENOMEM. */
static int change(struct block_set *set, uint64_t start, uint64_t count, const uint64_t *goal) {
    int failure = 0;
    while (count > 0 && failure == 0) {
        uint64_t index = start / CHUNK_BLOCKS;
        uint64_t first = start % CHUNK_BLOCKS;
        uint64_t take = CHUNK_BLOCKS - first < count ? CHUNK_BLOCKS - first : count;
        if (take == CHUNK_BLOCKS) {
            set->count = set->count - block_set_count_bits(set->chunks[index]) + block_set_count_bits(goal);
            share(set, index, goal);
        } else {
            failure = change_part(set, index, first, take, goal);
        }
        start += take;
        count -= take;
    }
    return failure;
}

int block_set_add(struct block_set *set, uint64_t start, uint64_t count) {
    return change(set, start, count, block_set_everything);
}

int block_set_remove(struct block_set *set, uint64_t start, uint64_t count) {
    return change(set, start, count, block_set_nothing);
}

int block_set_reserve(struct block_set *set, uint64_t start, uint64_t count) {
    uint64_t end = count == 0 ? 0 : (start + count - 1) / CHUNK_BLOCKS + 1;
    for (uint64_t i = start / CHUNK_BLOCKS; i < end; i++) {
        if (set->chunks[i] == block_set_nothing && own(set, i) == NULL) {
            return -ENOMEM;
        }
    }
    return 0;
}

int block_set_intersect(struct block_set *set, const struct block_set *other) {
    set->count = 0;
    for (uint64_t i = 0; i < set->chunk_count; i++) {
        if (other->chunks[i] == block_set_nothing) {
            share(set, i, block_set_nothing);
        } else if (set->chunks[i] != block_set_nothing && other->chunks[i] != block_set_everything) {
            uint64_t *bits = own(set, i);
            if (bits == NULL) {
                return -ENOMEM;
            }
            for (unsigned word = 0; word < CHUNK_WORDS; word++) {
                bits[word] &= other->chunks[i][word];
            }
            collapse(set, i, block_set_nothing);
        }
        set->count += block_set_count_bits(set->chunks[i]);
    }
    return 0;
}

/** Move the blocks of `moved`, all of which are in; 0 or -ENOMEM. */
static int move_chunk(struct block_set *set, uint64_t index, const uint64_t *moved, struct block_set *other) {
    if (memcmp(moved, block_set_everything, CHUNK_BYTES) == 0) {
        share(set, index, block_set_nothing);
        share(other, index, block_set_everything);
        return 0;
    }
    uint64_t *from = own(set, index);
    uint64_t *to = own(other, index);
    if (from == NULL || to == NULL) {
        return -ENOMEM;
    }
    for (unsigned word = 0; word < CHUNK_WORDS; word++) {
        from[word] &= ~moved[word];
        to[word] |= moved[word];
    }
    collapse(set, index, block_set_nothing);
    collapse(other, index, block_set_everything);
    return 0;
}

int block_set_move(struct block_set *set, uint64_t start, const uint8_t *bits, uint64_t bytes,
                   struct block_set *other) {
    int failure = 0;
    uint64_t index = start / CHUNK_BLOCKS;
    for (uint64_t at = 0; at < bytes && failure == 0; at += CHUNK_BYTES, index++) {
        uint8_t whole[CHUNK_BYTES] = {0};
        uint64_t moved[CHUNK_WORDS];
        memcpy(whole, bits + at, bytes - at < CHUNK_BYTES ? bytes - at : CHUNK_BYTES);
        for (unsigned word = 0; word < CHUNK_WORDS; word++) {
            moved[word] = little64(whole + 8 * (size_t)word) & set->chunks[index][word];
        }
        uint64_t count = block_set_count_bits(moved);
        if (count > 0) {
            failure = move_chunk(set, index, moved, other);
        }
        if (failure == 0) {
            set->count -= count;
            other->count += count;
        }
    }
    return failure;
}

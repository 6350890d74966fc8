#ifndef WARMER_BLOCK_SET_CHUNKS_H
#define WARMER_BLOCK_SET_CHUNKS_H

/**
 * What block_set.c, which changes sets, and block_set_look.c, which reads them, share. No other file includes
 * this.
 */
#include "base/block_set.h"

#include <stdbool.h>

#define WORD_BITS 64u
#define CHUNK_WORDS 16u
#define CHUNK_BLOCKS (CHUNK_WORDS * WORD_BITS)
#define CHUNK_BYTES (CHUNK_BLOCKS / 8)

/** Memory for many chunks. Allocated one by one they would take up to twice as much. */
struct block_slab {
    struct block_slab *next;
    uint64_t words[];
};

struct block_set {
    uint64_t capacity;
    uint64_t count;
    uint64_t chunk_count;
    const uint64_t **chunks;
    struct block_slab *slabs; /**< The newest first. */
    uint32_t slab_chunks;     /**< Chunks that the newest has room for. */
    uint32_t slab_used;
    uint64_t *spare; /**< Chunks that are free again: each begins with the address of the next. */
};

/** The chunks that stand for "no block is in the set" and "every block is in the set". */
extern const uint64_t block_set_nothing[CHUNK_WORDS];
extern const uint64_t block_set_everything[CHUNK_WORDS];

/** Whether this is one of the two shared chunks. */
static inline bool block_set_is_shared(const uint64_t *chunk) {
    return chunk == block_set_nothing || chunk == block_set_everything;
}

/** How many blocks of a chunk are in the set. */
uint64_t block_set_count_bits(const uint64_t *chunk);

#endif

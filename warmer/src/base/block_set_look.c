#include "base/block_set_chunks.h"

uint64_t block_set_count_bits(const uint64_t *chunk) {
    if (block_set_is_shared(chunk)) {
        return chunk == block_set_everything ? CHUNK_BLOCKS : 0;
    }
    uint64_t count = 0;
    for (unsigned word = 0; word < CHUNK_WORDS; word++) {
        count += (uint64_t)__builtin_popcountll(chunk[word]);
    }
    return count;
}

bool block_set_contains(const struct block_set *set, uint64_t block) {
    if (block >= set->capacity) {
        return false;
    }
    uint64_t bit = block % CHUNK_BLOCKS;
    return (set->chunks[block / CHUNK_BLOCKS][bit / WORD_BITS] >> (bit % WORD_BITS) & 1) != 0;
}

/** The lowest block of a chunk at or after its block `from`; CHUNK_BLOCKS where there is none. */
static uint64_t next_in_chunk(const uint64_t *chunk, uint64_t from) {
    uint64_t word = from / WORD_BITS;
    uint64_t bits = chunk[word] & (UINT64_MAX << (from % WORD_BITS));
    while (bits == 0 && ++word < CHUNK_WORDS) {
        bits = chunk[word];
    }
    return bits == 0 ? CHUNK_BLOCKS : word * WORD_BITS + (uint64_t)__builtin_ctzll(bits);
}

uint64_t block_set_next_before(const struct block_set *set, uint64_t from, uint64_t end) {
    end = end < set->capacity ? end : set->capacity;
    while (from < end) {
        uint64_t index = from / CHUNK_BLOCKS;
        uint64_t first = from % CHUNK_BLOCKS;
        if (set->chunks[index] != block_set_nothing) {
            first = next_in_chunk(set->chunks[index], first);
            uint64_t block = index * CHUNK_BLOCKS + first;
            if (first < CHUNK_BLOCKS) {
                return block < end ? block : BLOCK_NONE;
            }
        }
        from = (index + 1) * CHUNK_BLOCKS;
    }
    return BLOCK_NONE;
}

uint64_t block_set_next(const struct block_set *set, uint64_t from) {
    return block_set_next_before(set, from, set->capacity);
}

uint64_t block_set_nth(const struct block_set *set, uint64_t rank) {
    if (rank >= set->count) {
        return BLOCK_NONE;
    }
    uint64_t index = 0;
    uint64_t here = block_set_count_bits(set->chunks[0]);
    while (rank >= here) {
        rank -= here;
        here = block_set_count_bits(set->chunks[++index]);
    }
    uint64_t block = next_in_chunk(set->chunks[index], 0);
    for (; rank > 0; rank--) {
        block = next_in_chunk(set->chunks[index], block + 1);
    }
    return index * CHUNK_BLOCKS + block;
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

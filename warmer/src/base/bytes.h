#ifndef WARMER_BYTES_H
#define WARMER_BYTES_H

#include <stdint.h>

/** Read little-endian and big-endian numbers, at any alignment. */
static inline uint16_t little16(const uint8_t *at) {
    return (uint16_t)(at[0] | at[1] << 8);
}

static inline uint32_t little32(const uint8_t *at) {
    return (uint32_t)little16(at) | (uint32_t)little16(at + 2) << 16;
}

static inline uint64_t little64(const uint8_t *at) {
    return (uint64_t)little32(at) | (uint64_t)little32(at + 4) << 32;
}

/** Write a little-endian number, at any alignment. */
static inline void put_little32(uint8_t *at, uint32_t value) {
    for (unsigned i = 0; i < 4; i++) {
        at[i] = (uint8_t)(value >> 8 * i);
    }
}

static inline uint16_t big16(const uint8_t *at) {
    return (uint16_t)(at[0] << 8 | at[1]);
}

static inline uint32_t big32(const uint8_t *at) {
    return (uint32_t)big16(at) << 16 | big16(at + 2);
}

static inline uint64_t big64(const uint8_t *at) {
    return (uint64_t)big32(at) << 32 | big32(at + 4);
}

#endif

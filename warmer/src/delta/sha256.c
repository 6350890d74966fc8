/** SHA-256 (FIPS 180-4). Processors of EC2 since 2019 have instructions for it, which are four times as fast.
 */
#include "delta/sha256.h"

#include "base/bytes.h"

#include <string.h>

#define CHUNK_BYTES 64u

static const uint32_t round_constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static const uint32_t first_state[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                        0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

/** Mixes chunks of 64 bytes of each stream into its state; there are at most SHA256_STREAMS. */
typedef void mix_chunks(uint32_t states[][8], const uint8_t *const data[], size_t chunks, unsigned streams);

static uint32_t rotate(uint32_t value, unsigned bits) {
    return value >> bits | value << (32 - bits);
}

static void mix_one(uint32_t state[8], const uint32_t words[64]) {
    uint32_t s0 = state[0], s1 = state[1], s2 = state[2], s3 = state[3];
    uint32_t s4 = state[4], s5 = state[5], s6 = state[6], s7 = state[7];
    for (unsigned i = 0; i < 64; i++) {
        uint32_t high = rotate(s4, 6) ^ rotate(s4, 11) ^ rotate(s4, 25);
        uint32_t first = s7 + high + ((s4 & s5) ^ (~s4 & s6)) + round_constants[i] + words[i];
        uint32_t low = rotate(s0, 2) ^ rotate(s0, 13) ^ rotate(s0, 22);
        uint32_t second = low + ((s0 & s1) ^ (s0 & s2) ^ (s1 & s2));
        s7 = s6, s6 = s5, s5 = s4, s4 = s3 + first;
        s3 = s2, s2 = s1, s1 = s0, s0 = first + second;
    }
    const uint32_t mixed[8] = {s0, s1, s2, s3, s4, s5, s6, s7};
    for (unsigned i = 0; i < 8; i++) {
        state[i] += mixed[i];
    }
}

static void mix_chunk(uint32_t state[8], const uint8_t *data) {
    uint32_t words[64];
    for (unsigned i = 0; i < 16; i++) {
        words[i] = big32(data + 4 * (size_t)i);
    }
    for (unsigned i = 16; i < 64; i++) {
        uint32_t a = words[i - 15];
        uint32_t b = words[i - 2];
        words[i] = words[i - 16] + words[i - 7] + (rotate(a, 7) ^ rotate(a, 18) ^ a >> 3) +
                   (rotate(b, 17) ^ rotate(b, 19) ^ b >> 10);
    }
    mix_one(state, words);
}

static void mix_portable(uint32_t states[][8], const uint8_t *const data[], size_t chunks, unsigned streams) {
    for (unsigned s = 0; s < streams; s++) {
        for (size_t chunk = 0; chunk < chunks; chunk++) {
            mix_chunk(states[s], data[s] + chunk * CHUNK_BYTES);
        }
    }
}

#define INLINED static inline __attribute__((always_inline))

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>

#define SHA_TARGET __attribute__((target("sha,sse4.1,ssse3")))
typedef __m128i vector;

SHA_TARGET INLINED vector add(vector a, vector b) {
    return _mm_add_epi32(a, b);
}

/** Rounds 4i to 4i+3, and the words for the rounds twelve later. */
SHA_TARGET INLINED void quarter(vector pair[2], vector words[4], unsigned i) {
    const vector *constants = (const vector *)(const void *)(round_constants + 4 * i);
    vector now = words[i % 4];
    vector sum = add(now, _mm_loadu_si128(constants));
    pair[1] = _mm_sha256rnds2_epu32(pair[1], pair[0], sum);
    pair[0] = _mm_sha256rnds2_epu32(pair[0], pair[1], _mm_shuffle_epi32(sum, 0x0e));
    vector next = words[(i + 1) % 4];
    vector last = words[(i + 3) % 4];
    vector mixed = _mm_sha256msg1_epu32(now, next);
    mixed = add(mixed, _mm_alignr_epi8(last, words[(i + 2) % 4], 4));
    words[i % 4] = _mm_sha256msg2_epu32(mixed, last);
}

SHA_TARGET INLINED vector load_words(const uint8_t *data) {
    const vector order = _mm_set_epi64x(0x0c0d0e0f08090a0bLL, 0x0405060700010203LL);
    return _mm_shuffle_epi8(_mm_loadu_si128((const vector *)(const void *)data), order);
}

SHA_TARGET INLINED void load_state(vector pair[2], const uint32_t state[8]) {
    const vector *memory = (const vector *)(const void *)state;
    vector low = _mm_shuffle_epi32(_mm_loadu_si128(memory), 0xb1);
    vector high = _mm_shuffle_epi32(_mm_loadu_si128(memory + 1), 0x1b);
    pair[0] = _mm_alignr_epi8(low, high, 8);
    pair[1] = _mm_blend_epi16(high, low, 0xf0);
}

SHA_TARGET INLINED void store_state(uint32_t state[8], const vector pair[2]) {
    vector *memory = (vector *)(void *)state;
    vector low = _mm_shuffle_epi32(pair[0], 0x1b);
    vector high = _mm_shuffle_epi32(pair[1], 0xb1);
    _mm_storeu_si128(memory, _mm_blend_epi16(low, high, 0xf0));
    _mm_storeu_si128(memory + 1, _mm_alignr_epi8(high, low, 8));
}

static bool has_instructions(void) {
    unsigned a = 0, b = 0, c = 0, d = 0;
    bool has_sha = __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b & 1u << 29) != 0;
    return has_sha && __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & 1u << 19) != 0 && (c & 1u << 9) != 0;
}
#elif defined(__aarch64__) && defined(__linux__)
#include <arm_neon.h>
#include <sys/auxv.h>

/** HWCAP_SHA2 of Linux's asm/hwcap.h. */
#define HAS_SHA2 (1ul << 6)
#define SHA_TARGET __attribute__((target("+crypto")))
typedef uint32x4_t vector;

SHA_TARGET INLINED vector add(vector a, vector b) {
    return vaddq_u32(a, b);
}

/** Rounds 4i to 4i+3, and the words for the rounds twelve later. */
SHA_TARGET INLINED void quarter(vector pair[2], vector words[4], unsigned i) {
    vector sum = add(words[i % 4], vld1q_u32(round_constants + 4 * i));
    vector low = pair[0];
    pair[0] = vsha256hq_u32(low, pair[1], sum);
    pair[1] = vsha256h2q_u32(pair[1], low, sum);
    vector mixed = vsha256su0q_u32(words[i % 4], words[(i + 1) % 4]);
    words[i % 4] = vsha256su1q_u32(mixed, words[(i + 2) % 4], words[(i + 3) % 4]);
}

SHA_TARGET INLINED vector load_words(const uint8_t *data) {
    return vreinterpretq_u32_u8(vrev32q_u8(vld1q_u8(data)));
}

SHA_TARGET INLINED void load_state(vector pair[2], const uint32_t state[8]) {
    pair[0] = vld1q_u32(state);
    pair[1] = vld1q_u32(state + 4);
}

SHA_TARGET INLINED void store_state(uint32_t state[8], const vector pair[2]) {
    vst1q_u32(state, pair[0]);
    vst1q_u32(state + 4, pair[1]);
}

static bool has_instructions(void) {
    return (getauxval(AT_HWCAP) & HAS_SHA2) != 0;
}
#endif

#if defined(SHA_TARGET)
/** One chunk of each stream; with `streams` known, its loops are unrolled. */
SHA_TARGET INLINED void mix_each(vector pairs[][2], const uint8_t *const data[], size_t at,
                                 unsigned streams) {
    vector before[SHA256_STREAMS][2], words[SHA256_STREAMS][4];
#pragma GCC unroll 8
    for (unsigned i = 0; i < 4 * streams; i++) {
        words[i / 4][i % 4] = load_words(data[i / 4] + at + 16 * (size_t)(i % 4));
        before[i / 4][i % 2] = pairs[i / 4][i % 2];
    }
#pragma GCC unroll 32
    for (unsigned i = 0; i < 16 * streams; i++) {
        quarter(pairs[i % streams], words[i % streams], i / streams);
    }
#pragma GCC unroll 4
    for (unsigned i = 0; i < 2 * streams; i++) {
        pairs[i / 2][i % 2] = add(pairs[i / 2][i % 2], before[i / 2][i % 2]);
    }
}

/**
 * Each of the instructions waits for the one before it in its own stream, and those of another stream fit in
 * between: two streams take little longer than one.
 */
SHA_TARGET INLINED void mix_streams(uint32_t states[][8], const uint8_t *const data[], size_t chunks,
                                    unsigned streams) {
    vector pairs[SHA256_STREAMS][2];
#pragma GCC unroll 2
    for (unsigned s = 0; s < streams; s++) {
        load_state(pairs[s], states[s]);
    }
    for (size_t at = 0; at < chunks * CHUNK_BYTES; at += CHUNK_BYTES) {
        mix_each(pairs, data, at, streams);
    }
#pragma GCC unroll 2
    for (unsigned s = 0; s < streams; s++) {
        store_state(states[s], pairs[s]);
    }
}

SHA_TARGET static void mix_processor(uint32_t states[][8], const uint8_t *const data[], size_t chunks,
                                     unsigned streams) {
    if (streams == 1) {
        mix_streams(states, data, chunks, 1);
    } else {
        mix_streams(states, data, chunks, SHA256_STREAMS);
    }
}

/** Asked once: where a hypervisor answers cpuid, that takes microseconds. */
static mix_chunks *choose(void) {
    static mix_chunks *chosen;
    mix_chunks *mix = __atomic_load_n(&chosen, __ATOMIC_RELAXED);
    if (mix == NULL) {
        mix = has_instructions() ? mix_processor : mix_portable;
        __atomic_store_n(&chosen, mix, __ATOMIC_RELAXED);
    }
    return mix;
}
#else
static mix_chunks *choose(void) {
    return mix_portable;
}
#endif

static void put_big32(uint8_t *at, uint32_t value) {
    for (unsigned i = 0; i < 4; i++) {
        at[i] = (uint8_t)(value >> (24 - 8 * i));
    }
}

/** The last bytes, which are no whole chunk, and the length. */
static void finish(mix_chunks *mix, uint32_t state[8], const uint8_t *data, size_t bytes,
                   uint8_t digest[SHA256_BYTES]) {
    uint8_t tail[2 * CHUNK_BYTES] = {0};
    const uint8_t *at = tail;
    size_t rest = bytes % CHUNK_BYTES;
    size_t tail_bytes = rest < CHUNK_BYTES - 8 ? CHUNK_BYTES : 2 * CHUNK_BYTES;
    if (rest > 0) {
        memcpy(tail, data + bytes - rest, rest);
    }
    tail[rest] = 0x80;
    put_big32(tail + tail_bytes - 8, (uint32_t)((uint64_t)bytes >> 29));
    put_big32(tail + tail_bytes - 4, (uint32_t)(bytes << 3));
    mix((uint32_t (*)[8])state, &at, tail_bytes / CHUNK_BYTES, 1);
    for (unsigned i = 0; i < 8; i++) {
        put_big32(digest + 4 * (size_t)i, state[i]);
    }
}

static void hash(mix_chunks *mix, unsigned streams, const uint8_t *const data[], const size_t bytes[],
                 uint8_t digests[][SHA256_BYTES]) {
    uint32_t states[SHA256_STREAMS][8];
    size_t common = bytes[0] / CHUNK_BYTES;
    for (unsigned s = 0; s < streams; s++) {
        memcpy(states[s], first_state, sizeof first_state);
        common = bytes[s] / CHUNK_BYTES < common ? bytes[s] / CHUNK_BYTES : common;
    }
    mix(states, data, common, streams);
    for (unsigned s = 0; s < streams; s++) {
        const uint8_t *rest = data[s] + common * CHUNK_BYTES;
        mix(&states[s], &rest, bytes[s] / CHUNK_BYTES - common, 1);
        finish(mix, states[s], data[s], bytes[s], digests[s]);
    }
}

void sha256_each(unsigned streams, const uint8_t *const data[], const size_t bytes[],
                 uint8_t digests[][SHA256_BYTES]) {
    hash(choose(), streams, data, bytes, digests);
}

void sha256(const void *data, size_t bytes, uint8_t digest[SHA256_BYTES]) {
    const uint8_t *start = data;
    hash(choose(), 1, &start, &bytes, (uint8_t (*)[SHA256_BYTES])digest);
}

void sha256_portable(const void *data, size_t bytes, uint8_t digest[SHA256_BYTES]) {
    const uint8_t *start = data;
    hash(mix_portable, 1, &start, &bytes, (uint8_t (*)[SHA256_BYTES])digest);
}

static int digit_of(char letter) {
    if (letter >= '0' && letter <= '9') {
        return letter - '0';
    }
    return letter >= 'a' && letter <= 'f' ? letter - 'a' + 10 : -1;
}

bool sha256_parse(const char *text, uint8_t digest[SHA256_BYTES]) {
    for (size_t i = 0; i < SHA256_BYTES; i++) {
        int high = digit_of(text[2 * i]);
        int low = high < 0 ? -1 : digit_of(text[2 * i + 1]);
        if (low < 0) {
            return false;
        }
        digest[i] = (uint8_t)(high << 4 | low);
    }
    return text[2 * SHA256_BYTES] == '\0';
}

void sha256_print(const uint8_t digest[SHA256_BYTES], char text[SHA256_TEXT]) {
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < SHA256_BYTES; i++) {
        text[2 * i] = digits[digest[i] >> 4];
        text[2 * i + 1] = digits[digest[i] & 15];
    }
    text[2 * SHA256_BYTES] = '\0';
}

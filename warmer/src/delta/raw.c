/** Packs of frames that nothing compresses. */
#include "delta/raw.h"

#include "base/bytes.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define SKIPPED 0x184D2A50u
#define ZSTD 0xFD2FB528u
/** One segment, so there is no window, and the content's size in four bytes. */
#define DESCRIPTOR 0xA0u

static uint32_t piece_bytes(uint32_t length, uint32_t at) {
    return length - at < RAW_PIECE_BYTES ? length - at : RAW_PIECE_BYTES;
}

static bool is_run(uint32_t at, uint8_t runs) {
    return (runs >> (at / RAW_PIECE_BYTES) & 1) != 0;
}

uint8_t raw_runs(const uint8_t *bytes, uint32_t length) {
    unsigned runs = 0;
    for (uint32_t at = 0; at < length; at += RAW_PIECE_BYTES) {
        bool is_one_byte = memcmp(bytes + at, bytes + at + 1, piece_bytes(length, at) - 1) == 0;
        runs |= (is_one_byte ? 1u : 0u) << (at / RAW_PIECE_BYTES);
    }
    return (uint8_t)runs;
}

uint32_t raw_frame_bytes(uint32_t length, uint8_t runs) {
    uint32_t bytes = RAW_FRAME_HEAD_BYTES;
    for (uint32_t at = 0; at < length; at += RAW_PIECE_BYTES) {
        bytes += RAW_PIECE_HEAD_BYTES + (is_run(at, runs) ? 1 : piece_bytes(length, at));
    }
    return bytes;
}

void raw_frame_head(uint32_t length, uint8_t head[RAW_FRAME_HEAD_BYTES]) {
    put_little32(head, ZSTD);
    head[4] = DESCRIPTOR;
    put_little32(head + 5, length);
}

uint32_t raw_piece_head(uint32_t length, uint32_t at, uint8_t runs, uint8_t head[RAW_PIECE_HEAD_BYTES]) {
    uint32_t bytes = piece_bytes(length, at);
    uint32_t is_last = at + bytes == length ? 1 : 0;
    uint32_t value = is_last | (is_run(at, runs) ? 1u : 0u) << 1 | bytes << 3;
    for (unsigned i = 0; i < RAW_PIECE_HEAD_BYTES; i++) {
        head[i] = (uint8_t)(value >> (8 * i));
    }
    return is_run(at, runs) ? 1 : bytes;
}

size_t raw_index_line(const struct pack_block *block, char text[RAW_LINE_BYTES]) {
    char digest[SHA256_TEXT];
    sha256_print(block->digest, digest);
    return (size_t)snprintf(text, RAW_LINE_BYTES,
                            "{\"block\": %" PRIu64 ", \"length\": %u, \"bytes\": %u, \"sha256\": \"%s\"}\n",
                            block->block, block->length, block->frame_bytes, digest);
}

void raw_pack_head(uint32_t index_bytes, uint8_t head[PACK_HEAD_BYTES]) {
    put_little32(head, SKIPPED);
    put_little32(head + 4, index_bytes);
}

#ifndef WARMER_RAW_H
#define WARMER_RAW_H

#include "delta/pack.h"

#include <stddef.h>
#include <stdint.h>

/**
 * Frames of zstd without its compressor: each piece of a block is stored as it is, or as one byte and how
 * often it comes (RFC 8878, 3.1.1.2). So the size of a pack is known before its blocks are read a second
 * time.
 */
#define RAW_PIECE_BYTES 131072u
#define RAW_FRAME_HEAD_BYTES 9u
#define RAW_PIECE_HEAD_BYTES 3u
/** The longest line of an index that raw_index_line writes. */
#define RAW_LINE_BYTES 192u

/** The pieces that are one byte only: a bit for each. */
uint8_t raw_runs(const uint8_t *bytes, uint32_t length);

/** The bytes of the frame of a block of `length` bytes with these runs. */
uint32_t raw_frame_bytes(uint32_t length, uint8_t runs);

void raw_frame_head(uint32_t length, uint8_t head[RAW_FRAME_HEAD_BYTES]);

/** Write the head of the piece that begins at `at`. Returns how many bytes of the block follow it. */
uint32_t raw_piece_head(uint32_t length, uint32_t at, uint8_t runs, uint8_t head[RAW_PIECE_HEAD_BYTES]);

/** Write one line of an index. Returns its length. */
size_t raw_index_line(const struct pack_block *block, char text[RAW_LINE_BYTES]);

/** The bytes before the index. */
void raw_pack_head(uint32_t index_bytes, uint8_t head[PACK_HEAD_BYTES]);

#endif

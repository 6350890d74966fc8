/**
 * Decodes the frames of a pack with zstd's own decoder (vendor/zstd), which is compiled into this file. A
 * frame is refused unless it is one frame that says its length, needs no dictionary, and gives so many bytes.
 */
#include "delta/pack.h"

#include <stdlib.h>
#include <string.h>
#include <zstddeclib.c>

struct unpacker {
    ZSTD_DCtx *decoder;
};

struct unpacker *unpacker_create(void) {
    struct unpacker *unpacker = calloc(1, sizeof *unpacker);
    if (unpacker != NULL && (unpacker->decoder = ZSTD_createDCtx()) == NULL) {
        free(unpacker);
        unpacker = NULL;
    }
    return unpacker;
}

void unpacker_destroy(struct unpacker *unpacker) {
    if (unpacker != NULL) {
        ZSTD_freeDCtx(unpacker->decoder);
        free(unpacker);
    }
}

const char *unpacker_decode(struct unpacker *unpacker, const uint8_t *frame, const struct pack_block *block,
                            uint8_t *bytes) {
    if (ZSTD_findFrameCompressedSize(frame, block->frame_bytes) != block->frame_bytes) {
        return "a frame does not end where its index says";
    }
    if (ZSTD_getFrameContentSize(frame, block->frame_bytes) != block->length ||
        ZSTD_getDictID_fromFrame(frame, block->frame_bytes) != 0) {
        return "a frame does not hold one block";
    }
    size_t got = ZSTD_decompressDCtx(unpacker->decoder, bytes, block->length, frame, block->frame_bytes);
    return got == block->length ? NULL : "a frame cannot be decoded";
}

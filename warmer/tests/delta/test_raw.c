/** Packs that nothing compresses are packs that unpack. */
#include "base/block_set.h"
#include "base/random.h"
#include "check.h"
#include "delta/raw.h"

#include <stdlib.h>

static uint8_t block[BLOCK_BYTES], frame[PACK_FRAME_BYTES], decoded[BLOCK_BYTES];

/** The frame of a block; its length. */
static uint32_t make_frame(uint32_t length) {
    uint8_t runs = raw_runs(block, length);
    uint32_t at = RAW_FRAME_HEAD_BYTES;
    raw_frame_head(length, frame);
    for (uint32_t from = 0; from < length; from += RAW_PIECE_BYTES) {
        uint32_t bytes = raw_piece_head(length, from, runs, frame + at);
        memcpy(frame + at + RAW_PIECE_HEAD_BYTES, block + from, bytes);
        at += RAW_PIECE_HEAD_BYTES + bytes;
    }
    CHECK_EQ(at, raw_frame_bytes(length, runs));
    return at;
}

static void a_frame_of_any_pieces_unpacks_to_its_block(void) {
    static const uint32_t lengths[] = {BLOCK_BYTES, 512, 131072, 131584, 393216, 1};
    struct unpacker *unpacker = unpacker_create();
    struct random draw = {.state = 32};
    for (unsigned i = 0; i < 64; i++) {
        struct pack_block one = {.length = lengths[i % 6]};
        for (uint32_t at = 0; at < BLOCK_BYTES; at++) {
            bool is_run = (i >> (at / RAW_PIECE_BYTES) & 1) != 0;
            block[at] = is_run ? (uint8_t)i : (uint8_t)random_next(&draw);
        }
        one.frame_bytes = make_frame(one.length);
        CHECK(unpacker_decode(unpacker, frame, &one, decoded) == NULL);
        CHECK(memcmp(block, decoded, one.length) == 0);
    }
    unpacker_destroy(unpacker);
}

static void a_block_of_zeros_takes_some_bytes(void) {
    memset(block, 0, sizeof block);
    CHECK_EQ(make_frame(BLOCK_BYTES), 25);
}

static void an_index_is_read_as_it_was_written(void) {
    static char text[4 * RAW_LINE_BYTES];
    struct pack_block blocks[3], found[PACK_BLOCKS];
    uint8_t digest[SHA256_BYTES], head[PACK_HEAD_BYTES];
    size_t length = 0;
    memset(blocks, 0, sizeof blocks);
    for (unsigned i = 0; i < 3; i++) {
        blocks[i] =
            (struct pack_block){.block = 134217725u + i, .frame_bytes = 524309, .length = BLOCK_BYTES};
        blocks[i].digest[31] = (uint8_t)i;
        length += raw_index_line(&blocks[i], text + length);
    }
    sha256(text, length, digest);
    raw_pack_head((uint32_t)length, head);
    CHECK_EQ(pack_index_bytes(head), length);
    struct pack_claim claim = {digest, PACK_HEAD_BYTES + length + 3 * 524309u, 3, UINT64_C(64) << 40};
    const char *reason = pack_read_index(text, length, &claim, found);
    CHECK_TEXT(reason == NULL ? "" : reason, "");
    CHECK(found[2].block == 134217727 && found[2].digest[31] == 2);
}

int main(void) {
    RUN(a_frame_of_any_pieces_unpacks_to_its_block);
    RUN(a_block_of_zeros_takes_some_bytes);
    RUN(an_index_is_read_as_it_was_written);
    return CHECK_RESULT();
}

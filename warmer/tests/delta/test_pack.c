/** Packs: indexes and frames, and what is refused. The frames hold raw and repeated bytes (RFC 8878). */
#include "check.h"
#include "delta/pack.h"

#include <stdio.h>

#define VOLUME_BYTES (UINT64_C(16) * 524288 + 4096)

static struct pack_block blocks[PACK_BLOCKS];
static char text[1024];

/** The index line of a block whose frame has 19 bytes. */
static const char *read_line(const char *line, uint64_t count, uint64_t bytes) {
    uint8_t digest[SHA256_BYTES];
    size_t length = (size_t)snprintf(text, sizeof text, "%s", line);
    sha256(text, length, digest);
    struct pack_claim claim = {digest, PACK_HEAD_BYTES + length + bytes, count, VOLUME_BYTES};
    const char *reason = pack_read_index(text, length, &claim, blocks);
    return reason == NULL ? "" : reason;
}

#define SUM "00000000000000000000000000000000000000000000000000000000000000aa"
#define LINE(block, length)                                                                                  \
    "{\"block\": " block ", \"length\": " length ", \"bytes\": 19, \"sha256\": \"" SUM "\"}\n"

static void an_index_is_read(void) {
    CHECK_TEXT(read_line(LINE("3", "524288") LINE("16", "4096"), 2, 38), "");
    CHECK(blocks[0].block == 3 && blocks[0].length == 524288 && blocks[0].frame_bytes == 19);
    CHECK(blocks[1].block == 16 && blocks[1].length == 4096 && blocks[1].digest[31] == 0xaa);
}

static void an_index_that_does_not_fit_is_refused(void) {
    CHECK_TEXT(read_line(LINE("17", "524288"), 1, 19), "its index names a block beyond the volume's end");
    CHECK_TEXT(read_line(LINE("3", "4096"), 1, 19), "its index has a block that is not whole");
    CHECK_TEXT(read_line(LINE("16", "524288"), 1, 19), "its index has a block that is not whole");
    CHECK_TEXT(read_line(LINE("3", "524288"), 2, 19),
               "its index has other blocks or bytes than the manifest says");
    CHECK_TEXT(read_line(LINE("3", "524288"), 1, 20),
               "its index has other blocks or bytes than the manifest says");
    CHECK_TEXT(read_line("{}\n", 1, 19), "a line of its index is not block, length, bytes and sha256");
    uint8_t digest[SHA256_BYTES] = {0};
    struct pack_claim claim = {digest, 100, 1, VOLUME_BYTES};
    CHECK_TEXT(pack_read_index(text, 3, &claim, blocks),
               "its index has another SHA-256 than the manifest says");
}

static void only_a_skippable_frame_begins_a_pack(void) {
    CHECK_EQ(pack_index_bytes((const uint8_t *)"\x50\x2a\x4d\x18\x10\x00\x00\x00"), 16);
    CHECK_EQ(pack_index_bytes((const uint8_t *)"\x51\x2a\x4d\x18\x10\x00\x00\x00"), 0);
    CHECK_EQ(pack_index_bytes((const uint8_t *)"\x50\x2a\x4d\x18\x00\x00\x00\xff"), 0);
}

/** Four times "a": magic number, single segment with a length of four bytes, one last block of one byte. */
static const uint8_t repeated[] = {0x28, 0xb5, 0x2f, 0xfd, 0xa0, 4, 0, 0, 0, 0x23, 0, 0, 'a', 0};

static const char *decode(const uint8_t *frame, uint32_t bytes, uint32_t length, const char *wanted) {
    uint8_t found[8] = {0};
    struct unpacker *unpacker = unpacker_create();
    struct pack_block block = {.block = 0, .frame_bytes = bytes, .length = length};
    const char *reason = unpacker_decode(unpacker, frame, &block, found);
    CHECK(reason != NULL || memcmp(found, wanted, length) == 0);
    unpacker_destroy(unpacker);
    return reason == NULL ? "" : reason;
}

static void a_frame_is_decoded(void) {
    CHECK_TEXT(decode(repeated, 13, 4, "aaaa"), "");
}

static void a_frame_that_is_not_the_block_is_refused(void) {
    CHECK_TEXT(decode(repeated, 12, 4, "aaaa"), "a frame does not end where its index says");
    CHECK_TEXT(decode(repeated, 14, 4, "aaaa"), "a frame does not end where its index says");
    CHECK_TEXT(decode(repeated, 13, 3, "aaa"), "a frame does not hold one block");
}

int main(void) {
    RUN(an_index_is_read);
    RUN(an_index_that_does_not_fit_is_refused);
    RUN(only_a_skippable_frame_begins_a_pack);
    RUN(a_frame_is_decoded);
    RUN(a_frame_that_is_not_the_block_is_refused);
    return CHECK_RESULT();
}

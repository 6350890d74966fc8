/** The index of a pack: nothing of it is used before its checksum, which the manifest has, is right. */
#include "delta/pack.h"

#include "base/block_set.h"
#include "base/bytes.h"
#include "delta/fields.h"

#include <string.h>

/** The first of the frames that zstd skips (RFC 8878, 3.1.2). */
#define SKIPPED 0x184D2A50u

uint32_t pack_index_bytes(const uint8_t head[PACK_HEAD_BYTES]) {
    uint32_t bytes = little32(head + 4);
    return little32(head) == SKIPPED && bytes <= PACK_INDEX_BYTES ? bytes : 0;
}

static const char *read_block(char *line, size_t length, uint64_t volume_bytes, struct pack_block *block) {
    struct fields fields;
    const char *digest = NULL;
    uint64_t frame_bytes = 0;
    uint64_t block_bytes = 0;
    if (!fields_read(line, length, &fields) || !fields_number(&fields, "block", &block->block) ||
        !fields_number(&fields, "length", &block_bytes) || !fields_number(&fields, "bytes", &frame_bytes) ||
        !fields_text(&fields, "sha256", &digest) || !sha256_parse(digest, block->digest) ||
        !fields_all_used(&fields)) {
        return "a line of its index is not block, length, bytes and sha256";
    }
    if (block->block >= blocks_of_bytes(volume_bytes)) {
        return "its index names a block beyond the volume's end";
    }
    if (block_bytes != block_length(block->block, volume_bytes)) {
        return "its index has a block that is not whole";
    }
    if (frame_bytes == 0 || frame_bytes > PACK_FRAME_BYTES) {
        return "its index has a frame that is too large";
    }
    block->length = (uint32_t)block_bytes;
    block->frame_bytes = (uint32_t)frame_bytes;
    return NULL;
}

const char *pack_read_index(char *text, size_t length, const struct pack_claim *claim,
                            struct pack_block *blocks) {
    uint8_t digest[SHA256_BYTES];
    uint64_t bytes = PACK_HEAD_BYTES + length;
    uint64_t count = 0;
    sha256(text, length, digest);
    if (memcmp(digest, claim->digest, sizeof digest) != 0) {
        return "its index has another SHA-256 than the manifest says";
    }
    for (size_t at = 0; at < length; count++) {
        const char *end = memchr(text + at, '\n', length - at);
        size_t line = end == NULL ? length - at : (size_t)(end - (text + at));
        if (count == PACK_BLOCKS) {
            return "its index has more than 1,024 blocks";
        }
        const char *reason = read_block(text + at, line, claim->volume_bytes, &blocks[count]);
        if (reason != NULL) {
            return reason;
        }
        bytes += blocks[count].frame_bytes;
        at += line + 1;
    }
    if (count != claim->blocks || bytes != claim->bytes) {
        return "its index has other blocks or bytes than the manifest says";
    }
    return NULL;
}

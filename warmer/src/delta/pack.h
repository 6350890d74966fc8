#ifndef WARMER_PACK_H
#define WARMER_PACK_H

#include "base/diag.h"
#include "delta/sha256.h"

#include <stddef.h>
#include <stdint.h>

/**
 * A pack is a stream that `zstd -d` reads: first its index, in a frame that zstd skips, then one frame for
 * each block, in the order of the index. warmer.1.md has the format.
 */
#define PACK_HEAD_BYTES 8u
#define PACK_INDEX_BYTES (512u << 10)
#define PACK_BLOCKS 1024u

/** The largest frame of a block: what zstd makes of bytes that cannot be compressed, and some more. */
#define PACK_FRAME_BYTES (524288u + 4096u)

/** One block of a pack. */
struct pack_block {
    uint64_t block;
    uint32_t frame_bytes;
    uint32_t length; /**< Of the block: 524288, or less if it is the volume's last one. */
    uint8_t digest[SHA256_BYTES];
};

/** The bytes of the index that follow these PACK_HEAD_BYTES; 0: they do not begin a pack. */
uint32_t pack_index_bytes(const uint8_t head[PACK_HEAD_BYTES]);

/** What the manifest says of a pack, and of its volume. */
struct pack_claim {
    const uint8_t *digest; /**< Of the index. */
    uint64_t bytes;
    uint64_t blocks;
    uint64_t volume_bytes;
};

/**
 * Read the index, which is changed, into `blocks`, which has room for PACK_BLOCKS. `text` has room for one
 * byte more than `length`. Returns NULL, or what is wrong.
 */
const char *pack_read_index(char *text, size_t length, const struct pack_claim *claim,
                            struct pack_block *blocks);

/** Decodes frames. */
struct unpacker;

struct unpacker *unpacker_create(void);
void unpacker_destroy(struct unpacker *unpacker);

/**
 * Decode one frame to exactly `length` bytes; the caller compares their SHA-256 before they are used. Returns
 * NULL, or what is wrong.
 */
const char *unpacker_decode(struct unpacker *unpacker, const uint8_t *frame, const struct pack_block *block,
                            uint8_t *bytes);

#endif

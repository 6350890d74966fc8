/** Indexes of packs, with the checksum and the counts that the manifest would have. */
#include "base/block_set.h"
#include "delta/pack.h"
#include "fuzz_target.h"

#include <stdlib.h>
#include <string.h>

#define VOLUME_BYTES (UINT64_C(1024) * BLOCK_BYTES + 4096)

static const char *read_index(const uint8_t *data, size_t bytes, const struct pack_claim *claim,
                              struct pack_block *blocks) {
    char *text = malloc(bytes + 1);
    if (text == NULL) {
        return "out of memory";
    }
    if (bytes > 0) {
        memcpy(text, data, bytes);
    }
    text[bytes] = '\0';
    const char *reason = pack_read_index(text, bytes, claim, blocks);
    free(text);
    return reason;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    static struct pack_block blocks[PACK_BLOCKS];
    uint8_t digest[SHA256_BYTES];
    struct pack_claim claim = {digest, PACK_HEAD_BYTES + bytes, 0, VOLUME_BYTES};
    if (bytes >= PACK_HEAD_BYTES && pack_index_bytes(data) > PACK_INDEX_BYTES) {
        abort();
    }
    memset(blocks, 0, sizeof blocks);
    sha256(data, bytes, digest);
    (void)read_index(data, bytes, &claim, blocks);
    /* Once more, with the counts that the first look has found. */
    while (claim.blocks < PACK_BLOCKS && blocks[claim.blocks].length > 0) {
        claim.bytes += blocks[claim.blocks++].frame_bytes;
    }
    if (read_index(data, bytes, &claim, blocks) != NULL) {
        return 0;
    }
    for (uint64_t i = 0; i < claim.blocks; i++) {
        if (blocks[i].block > 1024 || blocks[i].length != block_length(blocks[i].block, VOLUME_BYTES) ||
            blocks[i].frame_bytes == 0 || blocks[i].frame_bytes > PACK_FRAME_BYTES) {
            abort();
        }
    }
    return 0;
}

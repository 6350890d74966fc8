/** Frames: three bytes of the block's length, then the frame. Whatever it is, no byte beyond the block is
 * written. */
#include "delta/pack.h"
#include "fuzz_target.h"

#include <stdlib.h>
#include <string.h>

#define LENGTH_BYTES 3u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    static struct unpacker *unpacker;
    if (unpacker == NULL) {
        unpacker = unpacker_create();
    }
    if (unpacker == NULL || bytes <= LENGTH_BYTES || bytes > PACK_FRAME_BYTES) {
        return 0;
    }
    uint32_t length = (uint32_t)(data[0] | data[1] << 8 | data[2] << 16) % 524289;
    struct pack_block block = {.length = length, .frame_bytes = (uint32_t)(bytes - LENGTH_BYTES)};
    /* Exactly as long as they may be, so that a sanitizer sees more. */
    uint8_t *frame = malloc(block.frame_bytes);
    uint8_t *found = malloc(length == 0 ? 1 : length);
    if (frame != NULL && found != NULL) {
        memcpy(frame, data + LENGTH_BYTES, block.frame_bytes);
        (void)unpacker_decode(unpacker, frame, &block, found);
    }
    free(frame);
    free(found);
    return 0;
}

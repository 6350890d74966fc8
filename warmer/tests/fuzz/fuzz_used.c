/** Partition tables and file systems: whatever a device holds, the answer is a set of its blocks. */
#include "fuzz_image.h"
#include "fuzz_target.h"
#include "used.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    struct fuzz_image image;
    struct used used;
    struct source source = fuzz_image_open(&image, data, bytes);
    if (source.bytes == 0 || used_init(&used, source.bytes) != 0) {
        return 0;
    }
    bool is_known = used_scan(&source, &used);
    uint64_t count = block_set_count(used.blocks);
    /* What is not understood is used as a whole. */
    if ((!is_known && count != blocks_of_bytes(source.bytes)) || count > blocks_of_bytes(source.bytes)) {
        abort();
    }
    used_clear(&used);
    return 0;
}

/** Partition tables and file systems: whatever a device holds, the answer is a set of its blocks. */
#include "filesystems/metadata.h"
#include "filesystems/used.h"
#include "fuzz_image.h"
#include "fuzz_target.h"

#include <stdlib.h>

/** What comes first is a list of the device's blocks, ascending and disjoint. */
static void check_metadata(const struct source *source) {
    struct metadata metadata;
    uint64_t end = 0;
    metadata_find(source, &metadata);
    for (size_t i = 0; i < metadata.blocks.length; i++) {
        const struct extent *extent = &metadata.blocks.items[i];
        if (extent->count == 0 || extent->start < end) {
            abort();
        }
        end = extent->start + extent->count;
    }
    if (end > blocks_of_bytes(source->bytes) || (end > 0 && metadata.found[0] == '\0')) {
        abort();
    }
    extents_clear(&metadata.blocks);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    struct fuzz_image image;
    struct used used;
    struct source source = fuzz_image_open(&image, data, bytes);
    if (source.bytes == 0 || used_init(&used, source.bytes) != 0) {
        return 0;
    }
    /* With a map of all blocks, or without one. */
    struct block_set *written = bytes % 2 == 0 ? NULL : block_set_create(blocks_of_bytes(source.bytes));
    if (written != NULL && block_set_add(written, 0, blocks_of_bytes(source.bytes)) != 0) {
        abort();
    }
    bool is_known = used_scan(&source, written, &used);
    block_set_destroy(written);
    uint64_t count = block_set_count(used.blocks);
    /* What is not understood is used as a whole. */
    if ((!is_known && count != blocks_of_bytes(source.bytes)) || count > blocks_of_bytes(source.bytes)) {
        abort();
    }
    used_clear(&used);
    check_metadata(&source);
    return 0;
}

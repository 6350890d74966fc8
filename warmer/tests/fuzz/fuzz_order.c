/** Directories, inodes, extents and lists of databases: whatever a device holds, some of its blocks come
 * first. */
#include "filesystems/order/order.h"
#include "fuzz_image.h"
#include "fuzz_target.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    struct fuzz_image image;
    struct source source = fuzz_image_open(&image, data, bytes);
    uint64_t blocks = blocks_of_bytes(source.bytes);
    struct block_set *wanted = blocks == 0 ? NULL : block_set_create(blocks);
    struct block_set *seen = blocks == 0 ? NULL : block_set_create(blocks);
    if (wanted != NULL && seen != NULL && block_set_add(wanted, blocks / 8, blocks - blocks / 8) == 0) {
        struct order order = {0};
        struct order_limits limits = {
            .wanted = wanted, .most_blocks = blocks / 10, .most_bytes = UINT64_C(4) << 20};
        order_find(&source, ORDER_AUTO, &limits, &order);
        uint64_t count = 0;
        for (size_t i = 0; i < order.blocks.length; i++) {
            const struct extent *extent = &order.blocks.items[i];
            for (uint64_t block = extent->start; block < extent->start + extent->count; block++) {
                if (!block_set_contains(wanted, block) || block_set_contains(seen, block) ||
                    block_set_add(seen, block, 1) != 0) {
                    abort();
                }
                count++;
            }
        }
        for (size_t i = 0; i < order.length; i++) {
            if (order.sets[i].blocks > count || order_source_name(order.sets[i].source) == NULL ||
                (order.sets[i].age_seconds < 0 && order.sets[i].age_seconds != ORDER_AGELESS)) {
                abort();
            }
        }
        if (count > limits.most_blocks) {
            abort();
        }
        extents_clear(&order.blocks);
    }
    block_set_destroy(wanted);
    block_set_destroy(seen);
    return 0;
}

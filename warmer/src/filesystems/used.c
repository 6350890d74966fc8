#include "filesystems/used.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int used_init(struct used *used, uint64_t device_bytes) {
    *used = (struct used){.blocks = block_set_create(blocks_of_bytes(device_bytes))};
    return used->blocks == NULL ? -ENOMEM : 0;
}

void used_clear(struct used *used) {
    block_set_destroy(used->blocks);
    extents_clear(&used->metadata);
    used->blocks = NULL;
}

/** The blocks that a range of bytes touches; a count of 0 for none. */
static struct extent blocks_of_range(const struct source *source, uint64_t offset, uint64_t length) {
    if (offset >= source->bytes || length == 0) {
        return (struct extent){0, 0};
    }
    uint64_t rest = source->bytes - offset;
    uint64_t start = source->start + offset;
    uint64_t last = start + (length < rest ? length : rest) - 1;
    return (struct extent){start / BLOCK_BYTES, last / BLOCK_BYTES - start / BLOCK_BYTES + 1};
}

void used_add(struct used *used, const struct source *source, uint64_t offset, uint64_t length) {
    struct extent blocks = blocks_of_range(source, offset, length);
    used->is_short |= used->blocks != NULL && block_set_add(used->blocks, blocks.start, blocks.count) != 0;
}

void used_add_metadata(struct used *used, const struct source *source, uint64_t offset, uint64_t length) {
    struct extent blocks = blocks_of_range(source, offset, length);
    used_add(used, source, offset, length);
    struct extents *list = &used->metadata;
    if (blocks.count > 0 && list->length > 0) {
        /* Neighbouring structures share blocks: only what the last one did not name is new. */
        const struct extent *last = &list->items[list->length - 1];
        uint64_t end = last->start + last->count;
        if (blocks.start >= last->start && blocks.start < end) {
            uint64_t stop = blocks.start + blocks.count;
            blocks = (struct extent){end, stop > end ? stop - end : 0};
        }
    }
    if (blocks.count > 0) {
        (void)extents_append(list, blocks.start, blocks.count);
    }
}

static bool has_bit(const uint8_t *bitmap, uint64_t bit) {
    return (bitmap[bit / 8] >> (bit % 8) & 1) != 0;
}

/** The first bit from `bit` that is (not) set, a byte at a time where whole bytes agree. */
static uint64_t find_bit(const uint8_t *bitmap, uint64_t bit, uint64_t bits, bool wanted) {
    uint8_t dull = wanted ? 0x00 : 0xff;
    while (bit < bits && has_bit(bitmap, bit) != wanted) {
        bit++;
        while (bit % 8 == 0 && bit < bits && bitmap[bit / 8] == dull) {
            bit += 8;
        }
    }
    return bit < bits ? bit : bits;
}

void used_add_bits(struct used *used, const struct source *source, const uint8_t *bitmap, uint64_t bits,
                   uint64_t offset, uint64_t unit_bytes) {
    uint64_t bit = find_bit(bitmap, 0, bits, true);
    while (bit < bits) {
        uint64_t end = find_bit(bitmap, bit, bits, false);
        used_add(used, source, offset + bit * unit_bytes, (end - bit) * unit_bytes);
        bit = find_bit(bitmap, end, bits, true);
    }
}

void used_found(struct used *used, const char *name) {
    size_t length = strlen(used->found);
    snprintf(used->found + length, sizeof used->found - length, "%s%s", length > 0 ? ", " : "", name);
}

void used_note(struct used *used, const char *format, ...) {
    size_t length = strlen(used->note);
    snprintf(used->note + length, sizeof used->note - length, "%s", length > 0 ? "; " : "");
    length = strlen(used->note);
    va_list values;
    va_start(values, format);
    vsnprintf(used->note + length, sizeof used->note - length, format, values);
    va_end(values);
}

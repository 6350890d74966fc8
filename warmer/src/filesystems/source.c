#include "filesystems/source.h"

#include <errno.h>
#include <stdbool.h>

static bool holds(const struct source *source, uint64_t offset, uint64_t length) {
    return offset <= source->bytes && length <= source->bytes - offset;
}

int source_read(const struct source *source, uint64_t offset, void *buffer, size_t length) {
    if (!holds(source, offset, length)) {
        return -ERANGE;
    }
    return source->read(source->context, source->start + offset, buffer, length);
}

void source_expect(const struct source *source, struct extents *ranges) {
    size_t kept = 0;
    extents_sort(ranges);
    for (size_t i = 0; i < ranges->length; i++) {
        struct extent range = ranges->items[i];
        if (holds(source, range.start, range.count)) {
            ranges->items[kept++] = (struct extent){source->start + range.start, range.count};
        }
    }
    if (source->expect != NULL && kept > 0) {
        source->expect(source->context, ranges->items, kept);
    }
    extents_clear(ranges);
}

struct source source_slice(const struct source *source, uint64_t start, uint64_t bytes) {
    struct source slice = *source;
    slice.start += start;
    slice.bytes = bytes;
    return slice;
}

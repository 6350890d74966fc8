#ifndef WARMER_SOURCE_H
#define WARMER_SOURCE_H

#include "base/extents.h"

#include <stddef.h>
#include <stdint.h>

/** Read exactly `length` bytes at `offset`. Returns 0 or -errno. */
typedef int source_read_hook(void *context, uint64_t offset, void *buffer, size_t length);

/** Announce ranges of bytes that will be read soon, so that a cold device can fetch them together. */
typedef void source_expect_hook(void *context, const struct extent *ranges, size_t count);

/** What a file system's structures are read from: a device, a file in a test, a fuzzer's input. */
struct source {
    source_read_hook *read;
    source_expect_hook *expect; /**< May be NULL. */
    void *context;
    uint64_t start; /**< Where this source begins within what the hooks read. */
    uint64_t bytes;
};

/** Read `length` bytes at `offset` of the source. Returns 0, -ERANGE beyond its end, or -errno. */
int source_read(const struct source *source, uint64_t offset, void *buffer, size_t length);

/** Announce ranges of bytes of the source, and empty the list. Ranges beyond the end are left out. */
void source_expect(const struct source *source, struct extents *ranges);

/** A part of the source as a source. `start` and `bytes` must lie within it. */
struct source source_slice(const struct source *source, uint64_t start, uint64_t bytes);

#endif

/* Tells sequential readers from random ones: only the former have their neighbours fetched ahead. */
#ifndef FIRST_TOUCH_STREAMS_H
#define FIRST_TOUCH_STREAMS_H

#include <stdbool.h>
#include <stdint.h>

/* A reader counts as sequential when it has read this much without a jump. */
#define STREAM_BYTES 1048576U
#define STREAM_COUNT 16

struct stream {
    uint64_t next_offset;
    uint64_t run_bytes;
    uint64_t used;
};

struct streams {
    struct stream entries[STREAM_COUNT];
    uint64_t uses;
};

/* Takes note of a read; true when it belongs to a sequential reader. */
bool streams_note_read(struct streams *streams, uint64_t offset, uint64_t length);

#endif

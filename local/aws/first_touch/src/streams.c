#include "streams.h"

bool streams_note_read(struct streams *streams, uint64_t offset, uint64_t length) {
    struct stream *chosen = &streams->entries[0];

    for (int i = 0; i < STREAM_COUNT; i++) {
        struct stream *candidate = &streams->entries[i];

        if (candidate->used && candidate->next_offset == offset) {
            chosen = candidate;
            break;
        }
        if (candidate->used < chosen->used)
            chosen = candidate;
    }
    if (!chosen->used || chosen->next_offset != offset)
        chosen->run_bytes = 0;
    chosen->next_offset = offset + length;
    chosen->run_bytes += length;
    chosen->used = ++streams->uses;
    return chosen->run_bytes > STREAM_BYTES;
}

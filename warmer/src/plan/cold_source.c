#include "plan/cold_source.h"

#include "engines/engine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define IN_FLIGHT 256u
#define WAIT_NS UINT64_C(50000000)

/** Reads that were not announced take at least so many bytes, because small structures lie together. */
#define PIECE_BYTES 65536u

/** A file system's reader goes to and fro between its beginning and another place. */
#define WINDOWS 2u

/** Bytes of the device from `start` on, as many as `length`. */
struct window {
    uint8_t *bytes;
    uint64_t start;
    uint64_t length;
};

struct cold_source {
    const struct device *device;
    cold_may_read *may_read; /**< NULL: all may be read. */
    void *context;
    struct engine *engine; /**< NULL: none works. */
    void *scratch;         /**< What touches read goes here and is thrown away. */
    struct window windows[WINDOWS];
    unsigned newest;         /**< The window used last. */
    struct extents expected; /**< Ascending; a read goes on to the end of its range. */
    uint32_t alignment;
    struct cold_counts counts;
};

/** Pieces of the ranges that are touched: none crosses from one block to the next. */
struct pieces {
    const struct extent *ranges;
    size_t count;
    size_t index;
    uint64_t offset; /**< Up to here the range is done; before its start: nothing is. */
};

static uint64_t align_up(const struct cold_source *cold, uint64_t bytes) {
    return (bytes + cold->alignment - 1) / cold->alignment * cold->alignment;
}

static bool is_allowed(const struct cold_source *cold, uint64_t offset) {
    return cold->may_read == NULL || cold->may_read(cold->context, offset / BLOCK_BYTES);
}

/** The next piece, whole sectors of it; false when there is none. */
static bool next_piece(const struct cold_source *cold, struct pieces *pieces, struct engine_read *read) {
    while (pieces->index < pieces->count) {
        const struct extent *range = &pieces->ranges[pieces->index];
        uint64_t from = pieces->offset > range->start ? pieces->offset : range->start;
        uint64_t end = range->start + range->count;
        if (from >= end) {
            pieces->index++;
            continue;
        }
        uint64_t stop = (from / BLOCK_BYTES + 1) * BLOCK_BYTES;
        stop = stop < end ? stop : end;
        pieces->offset = align_up(cold, stop);
        from -= from % cold->alignment;
        if (is_allowed(cold, from)) {
            *read =
                (struct engine_read){.offset_bytes = from, .length_bytes = (uint32_t)(pieces->offset - from)};
            return true;
        }
    }
    return false;
}

static int reap(struct cold_source *cold, unsigned *in_flight) {
    struct engine_completion done[IN_FLIGHT];
    int count = cold->engine->ops->reap(cold->engine, done, IN_FLIGHT, WAIT_NS);
    for (int i = 0; i < count; i++) {
        if (done[i].result > 0) {
            cold->counts.reads++;
            cold->counts.bytes += (uint64_t)done[i].result;
        }
        --*in_flight;
    }
    return count;
}

/** Touch all pieces; what fails here is noticed when it is read. */
static void touch(struct cold_source *cold, struct pieces *pieces) {
    struct engine_read read;
    unsigned in_flight = 0;
    bool has_more = next_piece(cold, pieces, &read);
    int failure = 0;
    while (failure >= 0 && (has_more || in_flight > 0)) {
        while (has_more && in_flight < IN_FLIGHT && failure >= 0) {
            failure = cold->engine->ops->submit(cold->engine, &read);
            in_flight += failure == 0;
            has_more = next_piece(cold, pieces, &read);
        }
        failure = in_flight > 0 ? reap(cold, &in_flight) : failure;
    }
}

static void cold_expect(void *context, const struct extent *ranges, size_t count) {
    struct cold_source *cold = context;
    struct pieces pieces = {.ranges = ranges, .count = count};
    extents_clear(&cold->expected);
    for (size_t i = 0; i < count; i++) {
        if (extents_append(&cold->expected, ranges[i].start, ranges[i].count) != 0) {
            extents_clear(&cold->expected);
            break;
        }
    }
    if (cold->engine != NULL && (count > 1 || ranges[0].count > BLOCK_BYTES)) {
        touch(cold, &pieces);
    }
}

/** Where the expected range that holds `offset` ends; 0 if none does. */
static uint64_t expected_end(const struct cold_source *cold, uint64_t offset) {
    size_t low = 0;
    size_t high = cold->expected.length;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (cold->expected.items[middle].start <= offset) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low == 0 ? 0 : cold->expected.items[low - 1].start + cold->expected.items[low - 1].count;
}

/** Fill a window from `offset` on, with at least a byte of it; 0 or -errno. */
static int fill(struct cold_source *cold, struct window *window, uint64_t offset, uint64_t wanted) {
    uint64_t start = offset - offset % cold->alignment;
    uint64_t least = offset + (wanted > PIECE_BYTES ? wanted : PIECE_BYTES);
    uint64_t end = expected_end(cold, offset);
    end = end >= offset + wanted ? end : least;
    uint64_t limit = (start / BLOCK_BYTES + 1) * BLOCK_BYTES;
    uint64_t length = align_up(cold, (end < limit ? end : limit) - start);
    window->length = 0;
    if (!is_allowed(cold, start)) {
        return -ENODATA;
    }
    int64_t got = device_read(cold->device, window->bytes, length, start);
    if (got < 0 || (uint64_t)got <= offset - start) {
        return got < 0 ? (int)got : -EIO;
    }
    window->start = start;
    window->length = (uint64_t)got;
    cold->counts.reads++;
    cold->counts.bytes += (uint64_t)got;
    return 0;
}

/** The window that holds `offset`; the oldest one is refilled if none does. NULL and `failure` on error. */
static const struct window *find_window(struct cold_source *cold, uint64_t offset, uint64_t wanted,
                                        int *failure) {
    for (unsigned i = 0; i < WINDOWS; i++) {
        const struct window *window = &cold->windows[i];
        if (offset >= window->start && offset - window->start < window->length) {
            cold->newest = i;
            return window;
        }
    }
    cold->newest = (cold->newest + 1) % WINDOWS;
    struct window *window = &cold->windows[cold->newest];
    *failure = fill(cold, window, offset, wanted);
    return *failure == 0 ? window : NULL;
}

static int cold_read(void *context, uint64_t offset, void *buffer, size_t length) {
    struct cold_source *cold = context;
    uint8_t *to = buffer;
    int failure = 0;
    while (length > 0) {
        const struct window *window = find_window(cold, offset, length, &failure);
        if (window == NULL) {
            return failure;
        }
        uint64_t here = window->start + window->length - offset;
        here = here < length ? here : length;
        memcpy(to, window->bytes + (offset - window->start), here);
        to += here;
        offset += here;
        length -= here;
    }
    return 0;
}

static void open_engine(struct cold_source *cold, const char *name) {
    char note[256];
    struct diag diag = {{0}};
    struct engine_settings settings = {.device = cold->device,
                                       .buffer = cold->scratch,
                                       .buffer_bytes = BLOCK_BYTES,
                                       .max_in_flight = IN_FLIGHT};
    if (engine_open(name, &settings, &cold->engine, note, sizeof note, &diag) != 0) {
        cold->engine = NULL;
    }
}

struct cold_source *cold_source_open(const struct device *device, const char *engine, cold_may_read *may_read,
                                     void *context) {
    struct cold_source *cold = calloc(1, sizeof *cold);
    if (cold == NULL) {
        return NULL;
    }
    cold->device = device;
    cold->may_read = may_read;
    cold->context = context;
    cold->alignment = device_alignment_bytes(device);
    cold->scratch = device_alloc_buffer(BLOCK_BYTES);
    bool has_room = cold->scratch != NULL;
    for (unsigned i = 0; i < WINDOWS; i++) {
        cold->windows[i].bytes = device_alloc_buffer(BLOCK_BYTES);
        has_room &= cold->windows[i].bytes != NULL;
    }
    if (!has_room) {
        cold_source_close(cold);
        return NULL;
    }
    open_engine(cold, engine);
    return cold;
}

struct source cold_source_of(struct cold_source *cold) {
    return (struct source){
        .read = cold_read, .expect = cold_expect, .context = cold, .bytes = device_bytes(cold->device)};
}

struct cold_counts cold_source_counts(const struct cold_source *cold) {
    return cold->counts;
}

void cold_source_close(struct cold_source *cold) {
    if (cold == NULL) {
        return;
    }
    engine_close(cold->engine);
    device_free_buffer(cold->scratch);
    for (unsigned i = 0; i < WINDOWS; i++) {
        device_free_buffer(cold->windows[i].bytes);
    }
    extents_clear(&cold->expected);
    free(cold);
}

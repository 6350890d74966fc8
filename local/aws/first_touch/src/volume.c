#include "volume.h"

#include "extents.h"
#include "memory.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* How often a stalled request looks whether the stall is over. */
#define STALL_CHECK_NS (NANOSECONDS / 100)

struct request {
    /* First, so that the timer's address is the request's. */
    struct timer timer;
    struct volume *volume;
    void *handle;
    bool is_write;
    int error;
    uint64_t offset;
    size_t length;
    uint64_t arrived_ns;
    /* Fetches that it still waits for. */
    unsigned waits;
    struct request *previous;
    struct request *next;
};

static void complete(struct timer *timer, uint64_t now_ns);

static struct request *create_request(struct volume *volume, void *handle, uint64_t offset, size_t length) {
    struct request *request = must_calloc(1, sizeof(*request));

    request->timer.fire = complete;
    request->volume = volume;
    request->handle = handle;
    request->offset = offset;
    request->length = length;
    request->arrived_ns = clock_now_ns();
    request->next = volume->pending;
    if (volume->pending)
        volume->pending->previous = request;
    volume->pending = request;
    volume->pending_count++;
    return request;
}

static void free_request(struct request *request) {
    struct volume *volume = request->volume;

    if (request->previous)
        request->previous->next = request->next;
    else
        volume->pending = request->next;
    if (request->next)
        request->next->previous = request->previous;
    volume->pending_count--;
    free(request);
}

/* The part of a request that lies in one block, as bytes [start, end) of that block. */
struct part {
    uint64_t block;
    uint64_t start;
    uint64_t end;
};

static struct part part_of(const struct request *request, uint64_t block) {
    uint64_t base = block * BLOCK_BYTES, end = request->offset + request->length;

    return (struct part){
        .block = block,
        .start = request->offset > base ? request->offset - base : 0,
        .end = end < base + BLOCK_BYTES ? end - base : BLOCK_BYTES,
    };
}

static uint64_t first_block(const struct request *request) {
    return request->offset / BLOCK_BYTES;
}

static uint64_t end_block(const struct request *request) {
    return (request->offset + request->length + BLOCK_BYTES - 1) / BLOCK_BYTES;
}

static void count(const struct request *request, uint64_t now_ns) {
    struct volume *volume = request->volume;
    struct traffic *traffic = request->is_write ? &volume->writes : &volume->reads;
    unsigned operations = limits_operations(request->length);

    if (request->error) {
        traffic->errors++;
        return;
    }
    traffic->operations += operations;
    traffic->bytes += request->length;
    traffic->seconds += (double)(now_ns - request->arrived_ns) / (double)NANOSECONDS * operations;
    if (request->is_write)
        return;
    volume->last_read_ns = now_ns;
    for (uint64_t block = first_block(request); block < end_block(request); block++) {
        struct part part = part_of(request, block);

        block_map_set_read(&volume->blocks, block, page_mask_covered(part.start, part.end));
    }
}

static void answer(struct request *request, uint64_t now_ns) {
    struct volume *volume = request->volume;
    char *data = NULL;

    if (!request->is_write && !request->error) {
        data = must_calloc(1, request->length);
        request->error = backing_read(&volume->backing, data, request->length, request->offset);
    }
    count(request, now_ns);
    volume->answer(request->handle, -request->error, request->error ? NULL : data, request->length);
    free(data);
    free_request(request);
}

static void complete(struct timer *timer, uint64_t now_ns) {
    struct request *request = (struct request *)timer;
    struct volume *volume = request->volume;

    /* Looked at again and again, because the fault may be cleared before its time. */
    if (now_ns < volume->faults.stall_until_ns)
        timers_add(&volume->timers, timer, now_ns + STALL_CHECK_NS);
    else
        answer(request, now_ns);
}

/* Bytes of a read that its fetches have not paid for already. */
static uint64_t chargeable_bytes(const struct request *request) {
    struct volume *volume = request->volume;
    uint64_t bytes = request->length;

    if (!volume->options->fetch_charged || request->is_write)
        return bytes;
    for (uint64_t block = first_block(request); block < end_block(request); block++) {
        struct part part = part_of(request, block);
        struct page_mask pages = page_mask_covered(part.start, part.end);

        if (block_map_is_written(&volume->blocks, block))
            bytes -= block_map_take_prepaid(&volume->blocks, block, pages) * (uint64_t)PAGE_BYTES;
    }
    return bytes;
}

/* Nothing is to be fetched any more: only the limits and the volume's own latency are left. */
static void schedule(struct request *request, uint64_t now_ns) {
    struct volume *volume = request->volume;
    const struct options *options = volume->options;
    double latency_ms = request->is_write ? options->write_latency_ms : options->read_latency_ms;
    uint64_t due_ns = request->arrived_ns + (uint64_t)(latency_ms * 1e6);
    uint64_t allowed_ns = limits_reserve(&volume->limits, now_ns, limits_operations(request->length),
                                         chargeable_bytes(request));

    timers_add(&volume->timers, &request->timer, allowed_ns > due_ns ? allowed_ns : due_ns);
}

static void fetched(struct request *request, uint64_t now_ns) {
    if (--request->waits == 0)
        schedule(request, now_ns);
}

/* Fetches the next written blocks along for a sequential reader that just had to wait. */
static void fetch_neighbours(struct volume *volume, uint64_t block, uint64_t now_ns) {
    uint64_t end = block + volume->options->neighbours;

    for (; block < end && block < volume->blocks.count; block++)
        fetcher_fetch_ahead(&volume->fetcher, block, now_ns);
}

/* The latency of a failing read: what the first touch would take, where it would be one. */
static void schedule_failure(struct request *request, uint64_t now_ns) {
    struct volume *volume = request->volume;
    uint64_t block = first_block(request);
    uint64_t latency_ns = (uint64_t)(volume->options->read_latency_ms * 1e6);

    if (!block_map_is_ready(&volume->blocks, block))
        latency_ns = latency_draw_ns(&volume->options->latency, block * BLOCK_PAGES);
    request->error = -EIO;
    timers_add(&volume->timers, &request->timer, now_ns + latency_ns);
}

void volume_read(struct volume *volume, void *handle, uint64_t offset, size_t length) {
    struct request *request = create_request(volume, handle, offset, length);
    uint64_t now_ns = request->arrived_ns, end = end_block(request);
    bool is_sequential = streams_note_read(&volume->streams, offset, length);

    volume->asked_bytes += length;
    if (!volume->first_read_ns)
        volume->first_read_ns = now_ns;
    if (faults_fail_read(&volume->faults, first_block(request), end)) {
        schedule_failure(request, now_ns);
        return;
    }
    for (uint64_t block = first_block(request); block < end; block++) {
        struct part part = part_of(request, block);

        request->waits +=
            fetcher_demand(&volume->fetcher, block, page_mask_touched(part.start, part.end), request, now_ns);
    }
    if (request->waits == 0)
        schedule(request, now_ns);
    else if (is_sequential)
        fetch_neighbours(volume, end, now_ns);
}

void volume_write(struct volume *volume, void *handle, const char *data, uint64_t offset, size_t length) {
    struct request *request = create_request(volume, handle, offset, length);

    volume->asked_bytes += length;
    request->is_write = true;
    request->error = backing_write(&volume->backing, data, length, offset);
    /* A page that is only partly overwritten keeps its first-touch cost: the rest of it is still in S3. */
    for (uint64_t block = first_block(request); block < end_block(request); block++) {
        struct part part = part_of(request, block);

        if (!block_map_is_ready(&volume->blocks, block))
            block_map_set_local(&volume->blocks, block, page_mask_covered(part.start, part.end));
    }
    schedule(request, request->arrived_ns);
}

static void initialize_in_background(struct timer *timer, uint64_t now_ns) {
    struct volume *volume = (struct volume *)(void *)((char *)timer - offsetof(struct volume, background));
    double interval_seconds = BLOCK_BYTES / 1048576.0 / volume->options->background_mib_s;
    uint64_t due_ns = timer->due_ns + (uint64_t)(interval_seconds * (double)NANOSECONDS);

    (void)now_ns;
    if (block_map_initialize_next(&volume->blocks, &volume->background_block))
        timers_add(&volume->timers, timer, due_ns);
}

static bool open_files(struct volume *volume) {
    const struct options *options = volume->options;
    int error = backing_open(&volume->backing, options->backing_path, options->size_bytes);

    if (error) {
        fprintf(stderr, "first-touch: cannot open %s: %s\n", options->backing_path, strerror(-error));
        return false;
    }
    error = block_map_create(&volume->blocks, options->size_bytes / BLOCK_BYTES);
    if (error) {
        fprintf(stderr, "first-touch: no memory for the block map: %s\n", strerror(-error));
        return false;
    }
    return !options->extents_path || extents_load(options->extents_path, &volume->blocks);
}

bool volume_create(struct volume *volume, const struct options *options) {
    *volume = (struct volume){.options = options};
    volume->limits.iops = options->iops;
    volume->limits.throughput_mib_s = options->throughput_mib_s;
    volume->fetcher = (struct fetcher){
        .blocks = &volume->blocks,
        .timers = &volume->timers,
        .limits = &volume->limits,
        .faults = &volume->faults,
        .latency = &options->latency,
        .concurrency = options->fetch_concurrency,
        .charged = options->fetch_charged,
        .by_page = options->touch_pages,
        .fetched = fetched,
    };
    if (!open_files(volume))
        return false;
    if (options->warm)
        block_map_initialize(&volume->blocks, 1.0);
    volume->background.fire = initialize_in_background;
    if (options->background_mib_s > 0)
        timers_add(&volume->timers, &volume->background, clock_now_ns());
    return true;
}

void volume_destroy(struct volume *volume) {
    while (volume->pending) {
        volume->answer(volume->pending->handle, EIO, NULL, 0);
        free_request(volume->pending);
    }
    fetcher_free(&volume->fetcher);
    timers_free(&volume->timers);
    faults_clear(&volume->faults);
    block_map_destroy(&volume->blocks);
    backing_close(&volume->backing);
}

/**
 * Overlapped reads and writes, whose completions come in batches from the device's completion port.
 *
 * A request that Windows refuses at once posts no completion on Windows, so reap hands the refusal back
 * before it asks the port. Wine posts one all the same; a completion of what is not under way is passed over.
 */
#include "engines/engine_overlapped.h"

#include "device/device_windows.h"
#include "system/clock.h"
#include "system/windows_error.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <windows.h>

/** Completions taken from the port in one call. */
#define BATCH 64u

/** One read or write in flight; the port hands back the address of its first member. */
struct request {
    OVERLAPPED overlapped;
    struct request *next_free;
    uint32_t tag;
    bool is_under_way;
};

struct overlapped_engine {
    struct engine base;
    struct engine_settings settings;
    struct request *requests;
    struct request *free_requests;
    struct engine_completion *refused; /**< A stack: order is nobody's business. */
    unsigned refused_count;
    unsigned in_flight; /**< Known to the port. */
};

static int32_t result_of(uint32_t error, uint32_t bytes) {
    if (error == ERROR_SUCCESS) {
        return (int32_t)bytes;
    }
    return error == ERROR_HANDLE_EOF ? 0 : -windows_errno(error);
}

static struct request *take_request(struct overlapped_engine *engine) {
    struct request *request = engine->free_requests;
    engine->free_requests = request->next_free;
    return request;
}

static void give_back(struct overlapped_engine *engine, struct request *request) {
    request->is_under_way = false;
    request->next_free = engine->free_requests;
    engine->free_requests = request;
}

static int overlapped_submit(struct engine *base, const struct engine_read *read) {
    struct overlapped_engine *engine = (struct overlapped_engine *)base;
    struct request *request = take_request(engine);
    request->tag = read->tag;
    request->overlapped = (OVERLAPPED){0};
    request->overlapped.Offset = (DWORD)read->offset_bytes;
    request->overlapped.OffsetHigh = (DWORD)(read->offset_bytes >> 32);
    HANDLE handle = device_handle(engine->settings.device);
    uint8_t *place = (uint8_t *)engine->settings.buffer + read->place_bytes;
    BOOL done = read->is_write ? WriteFile(handle, place, read->length_bytes, NULL, &request->overlapped)
                               : ReadFile(handle, place, read->length_bytes, NULL, &request->overlapped);
    if (done || GetLastError() == ERROR_IO_PENDING) {
        request->is_under_way = true;
        engine->in_flight++;
        return 0;
    }
    engine->refused[engine->refused_count++] =
        (struct engine_completion){read->tag, result_of(GetLastError(), 0)};
    give_back(engine, request);
    return 0;
}

/** Decode a completion. Returns false if it belongs to no request in flight. */
static bool finish(struct overlapped_engine *engine, OVERLAPPED *overlapped,
                   struct engine_completion *completion) {
    struct request *request = (struct request *)overlapped;
    DWORD bytes = 0;
    if (!request->is_under_way || !HasOverlappedIoCompleted(overlapped)) {
        return false;
    }
    BOOL done = GetOverlappedResult(device_handle(engine->settings.device), overlapped, &bytes, FALSE);
    *completion =
        (struct engine_completion){request->tag, result_of(done ? ERROR_SUCCESS : GetLastError(), bytes)};
    engine->in_flight--;
    give_back(engine, request);
    return true;
}

/** Completions from the port; count or -errno. */
static int take_batch(struct overlapped_engine *engine, struct engine_completion *done, unsigned capacity,
                      DWORD wait_ms) {
    OVERLAPPED_ENTRY entries[BATCH];
    ULONG count = 0;
    ULONG room = capacity < BATCH ? capacity : BATCH;
    if (!GetQueuedCompletionStatusEx(device_port(engine->settings.device), entries, room, &count, wait_ms,
                                     FALSE)) {
        DWORD error = GetLastError();
        return error == WAIT_TIMEOUT ? 0 : -windows_errno(error);
    }
    int finished = 0;
    for (ULONG i = 0; i < count; i++) {
        finished += finish(engine, entries[i].lpOverlapped, &done[finished]);
    }
    return finished;
}

static int overlapped_reap(struct engine *base, struct engine_completion *done, unsigned capacity,
                           uint64_t wait_ns) {
    struct overlapped_engine *engine = (struct overlapped_engine *)base;
    unsigned count = 0;
    while (engine->refused_count > 0 && count < capacity) {
        done[count++] = engine->refused[--engine->refused_count];
    }
    if (count > 0) {
        return (int)count;
    }
    return take_batch(engine, done, capacity,
                      (DWORD)((wait_ns + NS_PER_MILLISECOND - 1) / NS_PER_MILLISECOND));
}

static void release(struct overlapped_engine *engine) {
    free(engine->requests);
    free(engine->refused);
    free(engine);
}

static void overlapped_close(struct engine *base) {
    struct overlapped_engine *engine = (struct overlapped_engine *)base;
    struct engine_completion done[BATCH];
    int failure = 0;
    while (engine->in_flight > 0 && failure >= 0) {
        failure = take_batch(engine, done, BATCH, INFINITE);
    }
    /* Nothing may be left in the port that points to what is freed now. */
    take_batch(engine, done, BATCH, 0);
    release(engine);
}

static int overlapped_open(const struct engine_settings *settings, struct engine **opened) {
    struct overlapped_engine *engine = calloc(1, sizeof *engine);
    if (engine == NULL) {
        return -ENOMEM;
    }
    engine->base.ops = &engine_overlapped;
    engine->settings = *settings;
    engine->requests = calloc(settings->max_in_flight, sizeof *engine->requests);
    engine->refused = calloc(settings->max_in_flight, sizeof *engine->refused);
    if (engine->requests == NULL || engine->refused == NULL) {
        release(engine);
        return -ENOMEM;
    }
    for (unsigned i = 0; i < settings->max_in_flight; i++) {
        give_back(engine, &engine->requests[i]);
    }
    *opened = &engine->base;
    return 0;
}

const struct engine_ops engine_overlapped = {
    .name = "overlapped",
    .description = "Windows's overlapped requests and a completion port",
    .open = overlapped_open,
    .submit = overlapped_submit,
    .reap = overlapped_reap,
    .close = overlapped_close,
};

/**
 * The reference engine: a pool of threads, each with one blocking read.
 *
 * Slow, obvious and everywhere: when another engine is in doubt, its results must equal this one's. Threads
 * are made when more reads are in flight than there are threads, so a shallow queue costs few.
 */
#include "engines/engine_threads.h"

#include "system/clock.h"
#include "system/thread.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

/** What is waited for. */
enum condition {
    CONDITION_WORK,     /**< There is a read to do, or the engine closes. */
    CONDITION_FINISHED, /**< There is a completion. */
};

struct threads_engine {
    struct engine base;
    struct engine_settings settings;
    struct monitor *monitor;
    struct engine_read *reads;
    struct engine_completion *completions;
    unsigned read_head, read_count; /**< A ring of max_in_flight reads. */
    unsigned completion_count;      /**< A stack: order is nobody's business. */
    unsigned idle, threads;
    bool closing;
    struct thread **handles;
};

static struct engine_read take_read(struct threads_engine *engine) {
    struct engine_read read = engine->reads[engine->read_head];
    engine->read_head = (engine->read_head + 1) % engine->settings.max_in_flight;
    engine->read_count--;
    return read;
}

static int32_t read_once(const struct threads_engine *engine, const struct engine_read *read) {
    uint8_t *place = (uint8_t *)engine->settings.buffer + read->place_bytes;
    if (read->is_write) {
        return (int32_t)device_write(engine->settings.device, place, read->length_bytes, read->offset_bytes);
    }
    return (int32_t)device_read(engine->settings.device, place, read->length_bytes, read->offset_bytes);
}

static void serve(void *context) {
    struct threads_engine *engine = context;
    monitor_enter(engine->monitor);
    for (;;) {
        engine->idle++;
        while (engine->read_count == 0 && !engine->closing) {
            monitor_wait(engine->monitor, CONDITION_WORK);
        }
        engine->idle--;
        if (engine->closing) {
            break;
        }
        struct engine_read read = take_read(engine);
        monitor_leave(engine->monitor);
        int32_t result = read_once(engine, &read);
        monitor_enter(engine->monitor);
        engine->completions[engine->completion_count++] = (struct engine_completion){read.tag, result};
        monitor_signal(engine->monitor, CONDITION_FINISHED);
    }
    monitor_leave(engine->monitor);
}

/** Start one more thread; 0 or -errno. */
static int add_thread(struct threads_engine *engine) {
    int failure = thread_start(serve, engine, &engine->handles[engine->threads]);
    if (failure == 0) {
        engine->threads++;
    }
    return failure;
}

static int threads_submit(struct engine *base, const struct engine_read *read) {
    struct threads_engine *engine = (struct threads_engine *)base;
    int failure = 0;
    monitor_enter(engine->monitor);
    if (engine->idle <= engine->read_count && engine->threads < engine->settings.max_in_flight) {
        failure = add_thread(engine);
    }
    if (failure == 0 || engine->threads > 0) {
        /* Short of threads the reads still get done, by those that there are. */
        failure = 0;
        unsigned tail = (engine->read_head + engine->read_count) % engine->settings.max_in_flight;
        engine->reads[tail] = *read;
        engine->read_count++;
        monitor_signal(engine->monitor, CONDITION_WORK);
    }
    monitor_leave(engine->monitor);
    return failure;
}

static int threads_reap(struct engine *base, struct engine_completion *done, unsigned capacity,
                        uint64_t wait_ns) {
    struct threads_engine *engine = (struct threads_engine *)base;
    uint64_t due_ns = clock_now_ns() + wait_ns;
    unsigned count = 0;
    monitor_enter(engine->monitor);
    while (engine->completion_count == 0 && wait_ns > 0) {
        if (!monitor_wait_until(engine->monitor, CONDITION_FINISHED, due_ns)) {
            break;
        }
    }
    while (engine->completion_count > 0 && count < capacity) {
        done[count++] = engine->completions[--engine->completion_count];
    }
    monitor_leave(engine->monitor);
    return (int)count;
}

/** Free what there is of an engine without threads. */
static void release(struct threads_engine *engine) {
    monitor_destroy(engine->monitor);
    free(engine->reads);
    free(engine->completions);
    free(engine->handles);
    free(engine);
}

static void threads_close(struct engine *base) {
    struct threads_engine *engine = (struct threads_engine *)base;
    monitor_enter(engine->monitor);
    engine->closing = true;
    monitor_broadcast(engine->monitor, CONDITION_WORK);
    monitor_leave(engine->monitor);
    for (unsigned i = 0; i < engine->threads; i++) {
        thread_join(engine->handles[i]);
    }
    release(engine);
}

static int threads_open(const struct engine_settings *settings, struct engine **opened) {
    struct threads_engine *engine = calloc(1, sizeof *engine);
    if (engine == NULL) {
        return -ENOMEM;
    }
    engine->base.ops = &engine_threads;
    engine->settings = *settings;
    engine->monitor = monitor_create();
    engine->reads = calloc(settings->max_in_flight, sizeof *engine->reads);
    engine->completions = calloc(settings->max_in_flight, sizeof *engine->completions);
    engine->handles = calloc(settings->max_in_flight, sizeof *engine->handles);
    if (engine->monitor == NULL || engine->reads == NULL || engine->completions == NULL ||
        engine->handles == NULL) {
        release(engine);
        return -ENOMEM;
    }
    *opened = &engine->base;
    return 0;
}

const struct engine_ops engine_threads = {
    .name = "threads",
    .description = "a pool of threads with one blocking read each",
    .open = threads_open,
    .submit = threads_submit,
    .reap = threads_reap,
    .close = threads_close,
};

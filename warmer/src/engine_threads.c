/**
 * The reference engine: a pool of threads, each with one blocking read.
 *
 * Slow, obvious and everywhere: when another engine is in doubt, its results must equal this one's. Threads
 * are made when more reads are in flight than there are threads, so a shallow queue costs few.
 */
#include "engine_threads.h"

#include "clock.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

/** Enough for one pread call, also under the address sanitizer; reserved, not used. */
#define STACK_BYTES (256u * 1024u)

struct threads_engine {
    struct engine base;
    struct engine_settings settings;
    pthread_mutex_t lock;
    pthread_cond_t work;     /**< There is a read to do, or the engine closes. */
    pthread_cond_t finished; /**< There is a completion. */
    struct engine_read *reads;
    struct engine_completion *completions;
    unsigned read_head, read_count; /**< A ring of max_in_flight reads. */
    unsigned completion_count;      /**< A stack: order is nobody's business. */
    unsigned idle, threads;
    bool closing;
    pthread_t *handles;
};

static struct engine_read take_read(struct threads_engine *engine) {
    struct engine_read read = engine->reads[engine->read_head];
    engine->read_head = (engine->read_head + 1) % engine->settings.max_in_flight;
    engine->read_count--;
    return read;
}

static int32_t read_once(const struct threads_engine *engine, const struct engine_read *read) {
    return (int32_t)device_read(engine->settings.device, engine->settings.buffer, read->length_bytes,
                                read->offset_bytes);
}

static void *serve(void *context) {
    struct threads_engine *engine = context;
    pthread_mutex_lock(&engine->lock);
    for (;;) {
        engine->idle++;
        while (engine->read_count == 0 && !engine->closing) {
            pthread_cond_wait(&engine->work, &engine->lock);
        }
        engine->idle--;
        if (engine->closing) {
            break;
        }
        struct engine_read read = take_read(engine);
        pthread_mutex_unlock(&engine->lock);
        int32_t result = read_once(engine, &read);
        pthread_mutex_lock(&engine->lock);
        engine->completions[engine->completion_count++] = (struct engine_completion){read.tag, result};
        pthread_cond_signal(&engine->finished);
    }
    pthread_mutex_unlock(&engine->lock);
    return NULL;
}

/** Start one more thread, which leaves signals to the main one; 0 or -errno. */
static int add_thread(struct threads_engine *engine) {
    pthread_attr_t attributes;
    sigset_t all;
    sigset_t before;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failure = pthread_create(&engine->handles[engine->threads], &attributes, serve, engine);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    if (failure == 0) {
        engine->threads++;
    }
    return -failure;
}

static int threads_submit(struct engine *base, const struct engine_read *read) {
    struct threads_engine *engine = (struct threads_engine *)base;
    int failure = 0;
    pthread_mutex_lock(&engine->lock);
    if (engine->idle <= engine->read_count && engine->threads < engine->settings.max_in_flight) {
        failure = add_thread(engine);
    }
    if (failure == 0 || engine->threads > 0) {
        /* Short of threads the reads still get done, by those that there are. */
        failure = 0;
        unsigned tail = (engine->read_head + engine->read_count) % engine->settings.max_in_flight;
        engine->reads[tail] = *read;
        engine->read_count++;
        pthread_cond_signal(&engine->work);
    }
    pthread_mutex_unlock(&engine->lock);
    return failure;
}

static struct timespec deadline_after(uint64_t wait_ns) {
    uint64_t due = clock_now_ns() + wait_ns;
    return (struct timespec){.tv_sec = (time_t)(due / NS_PER_SECOND), .tv_nsec = (long)(due % NS_PER_SECOND)};
}

static int threads_reap(struct engine *base, struct engine_completion *done, unsigned capacity,
                        uint64_t wait_ns) {
    struct threads_engine *engine = (struct threads_engine *)base;
    struct timespec deadline = deadline_after(wait_ns);
    unsigned count = 0;
    pthread_mutex_lock(&engine->lock);
    while (engine->completion_count == 0 && wait_ns > 0) {
        if (pthread_cond_timedwait(&engine->finished, &engine->lock, &deadline) == ETIMEDOUT) {
            break;
        }
    }
    while (engine->completion_count > 0 && count < capacity) {
        done[count++] = engine->completions[--engine->completion_count];
    }
    pthread_mutex_unlock(&engine->lock);
    return (int)count;
}

static void threads_close(struct engine *base) {
    struct threads_engine *engine = (struct threads_engine *)base;
    pthread_mutex_lock(&engine->lock);
    engine->closing = true;
    pthread_cond_broadcast(&engine->work);
    pthread_mutex_unlock(&engine->lock);
    for (unsigned i = 0; i < engine->threads; i++) {
        pthread_join(engine->handles[i], NULL);
    }
    pthread_cond_destroy(&engine->work);
    pthread_cond_destroy(&engine->finished);
    pthread_mutex_destroy(&engine->lock);
    free(engine->reads);
    free(engine->completions);
    free(engine->handles);
    free(engine);
}

static void init_locks(struct threads_engine *engine) {
    pthread_condattr_t attributes;
    pthread_mutex_init(&engine->lock, NULL);
    pthread_cond_init(&engine->work, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&engine->finished, &attributes);
    pthread_condattr_destroy(&attributes);
}

static int threads_open(const struct engine_settings *settings, struct engine **opened) {
    struct threads_engine *engine = calloc(1, sizeof *engine);
    if (engine == NULL) {
        return -ENOMEM;
    }
    engine->base.ops = &engine_threads;
    engine->settings = *settings;
    init_locks(engine);
    engine->reads = calloc(settings->max_in_flight, sizeof *engine->reads);
    engine->completions = calloc(settings->max_in_flight, sizeof *engine->completions);
    engine->handles = calloc(settings->max_in_flight, sizeof *engine->handles);
    if (engine->reads == NULL || engine->completions == NULL || engine->handles == NULL) {
        threads_close(&engine->base);
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

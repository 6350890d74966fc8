#include "system/thread.h"

#include "system/clock.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

/** Enough for one pread call, also under the address sanitizer; reserved, not used. */
#define STACK_BYTES (256u * 1024u)

struct monitor {
    pthread_mutex_t lock;
    pthread_cond_t conditions[MONITOR_CONDITIONS];
};

struct monitor *monitor_create(void) {
    struct monitor *monitor = calloc(1, sizeof *monitor);
    pthread_condattr_t attributes;
    if (monitor == NULL) {
        return NULL;
    }
    pthread_mutex_init(&monitor->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    for (unsigned i = 0; i < MONITOR_CONDITIONS; i++) {
        pthread_cond_init(&monitor->conditions[i], &attributes);
    }
    pthread_condattr_destroy(&attributes);
    return monitor;
}

void monitor_destroy(struct monitor *monitor) {
    if (monitor == NULL) {
        return;
    }
    for (unsigned i = 0; i < MONITOR_CONDITIONS; i++) {
        pthread_cond_destroy(&monitor->conditions[i]);
    }
    pthread_mutex_destroy(&monitor->lock);
    free(monitor);
}

void monitor_enter(struct monitor *monitor) {
    pthread_mutex_lock(&monitor->lock);
}

void monitor_leave(struct monitor *monitor) {
    pthread_mutex_unlock(&monitor->lock);
}

void monitor_wait(struct monitor *monitor, unsigned condition) {
    pthread_cond_wait(&monitor->conditions[condition], &monitor->lock);
}

bool monitor_wait_until(struct monitor *monitor, unsigned condition, uint64_t due_ns) {
    struct timespec due = {.tv_sec = (time_t)(due_ns / NS_PER_SECOND),
                           .tv_nsec = (long)(due_ns % NS_PER_SECOND)};
    return pthread_cond_timedwait(&monitor->conditions[condition], &monitor->lock, &due) != ETIMEDOUT;
}

void monitor_signal(struct monitor *monitor, unsigned condition) {
    pthread_cond_signal(&monitor->conditions[condition]);
}

void monitor_broadcast(struct monitor *monitor, unsigned condition) {
    pthread_cond_broadcast(&monitor->conditions[condition]);
}

struct thread {
    pthread_t handle;
    void (*serve)(void *context);
    void *context;
};

static void *run(void *argument) {
    struct thread *thread = argument;
    thread->serve(thread->context);
    return NULL;
}

/** With every signal blocked in the new thread; 0 or -errno. */
static int start(struct thread *thread) {
    pthread_attr_t attributes;
    sigset_t all;
    sigset_t before;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failure = pthread_create(&thread->handle, &attributes, run, thread);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return -failure;
}

int thread_start(void (*serve)(void *context), void *context, struct thread **started) {
    struct thread *thread = malloc(sizeof *thread);
    if (thread == NULL) {
        return -ENOMEM;
    }
    *thread = (struct thread){.serve = serve, .context = context};
    int failure = start(thread);
    if (failure != 0) {
        free(thread);
        return failure;
    }
    *started = thread;
    return 0;
}

void thread_join(struct thread *thread) {
    pthread_join(thread->handle, NULL);
    free(thread);
}

#include "system/thread.h"

#include "system/clock.h"
#include "system/windows_error.h"

#include <errno.h>
#include <stdlib.h>
#include <windows.h>

/** Reserved, not used. */
#define STACK_BYTES (256u * 1024u)

struct monitor {
    SRWLOCK lock;
    CONDITION_VARIABLE conditions[MONITOR_CONDITIONS];
};

struct monitor *monitor_create(void) {
    struct monitor *monitor = calloc(1, sizeof *monitor);
    if (monitor == NULL) {
        return NULL;
    }
    InitializeSRWLock(&monitor->lock);
    for (unsigned i = 0; i < MONITOR_CONDITIONS; i++) {
        InitializeConditionVariable(&monitor->conditions[i]);
    }
    return monitor;
}

void monitor_destroy(struct monitor *monitor) {
    free(monitor);
}

void monitor_enter(struct monitor *monitor) {
    AcquireSRWLockExclusive(&monitor->lock);
}

void monitor_leave(struct monitor *monitor) {
    ReleaseSRWLockExclusive(&monitor->lock);
}

void monitor_wait(struct monitor *monitor, unsigned condition) {
    SleepConditionVariableSRW(&monitor->conditions[condition], &monitor->lock, INFINITE, 0);
}

bool monitor_wait_until(struct monitor *monitor, unsigned condition, uint64_t due_ns) {
    uint64_t now_ns = clock_now_ns();
    if (now_ns >= due_ns) {
        return false;
    }
    DWORD wait_ms = (DWORD)((due_ns - now_ns + NS_PER_MILLISECOND - 1) / NS_PER_MILLISECOND);
    return SleepConditionVariableSRW(&monitor->conditions[condition], &monitor->lock, wait_ms, 0) != 0;
}

void monitor_signal(struct monitor *monitor, unsigned condition) {
    WakeConditionVariable(&monitor->conditions[condition]);
}

void monitor_broadcast(struct monitor *monitor, unsigned condition) {
    WakeAllConditionVariable(&monitor->conditions[condition]);
}

struct thread {
    HANDLE handle;
    void (*serve)(void *context);
    void *context;
};

static DWORD WINAPI run(void *argument) {
    struct thread *thread = argument;
    thread->serve(thread->context);
    return 0;
}

int thread_start(void (*serve)(void *context), void *context, struct thread **started) {
    struct thread *thread = malloc(sizeof *thread);
    if (thread == NULL) {
        return -ENOMEM;
    }
    *thread = (struct thread){.serve = serve, .context = context};
    thread->handle = CreateThread(NULL, STACK_BYTES, run, thread, STACK_SIZE_PARAM_IS_A_RESERVATION, NULL);
    if (thread->handle == NULL) {
        free(thread);
        return -windows_errno(GetLastError());
    }
    *started = thread;
    return 0;
}

void thread_join(struct thread *thread) {
    WaitForSingleObject(thread->handle, INFINITE);
    CloseHandle(thread->handle);
    free(thread);
}

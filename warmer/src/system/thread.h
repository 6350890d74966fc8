#ifndef WARMER_THREAD_H
#define WARMER_THREAD_H

#include <stdbool.h>
#include <stdint.h>

/** A lock with conditions to wait for. One file per operating system implements this. */
struct monitor;

/** How many conditions a monitor has, numbered from 0. */
#define MONITOR_CONDITIONS 2u

/** NULL when memory is short. */
struct monitor *monitor_create(void);

/** Nobody may hold it or wait for it; NULL is allowed. */
void monitor_destroy(struct monitor *monitor);

void monitor_enter(struct monitor *monitor);
void monitor_leave(struct monitor *monitor);

/** Let go, wait until somebody signals the condition (or for no reason at all), hold again. */
void monitor_wait(struct monitor *monitor, unsigned condition);

/** The same until clock_now_ns reaches `due_ns`; false when that was what ended the wait. */
bool monitor_wait_until(struct monitor *monitor, unsigned condition, uint64_t due_ns);

/** Wake one who waits, or all. */
void monitor_signal(struct monitor *monitor, unsigned condition);
void monitor_broadcast(struct monitor *monitor, unsigned condition);

/** A thread that leaves the process's signals to the others, with a small stack: buffers are for the heap. */
struct thread;

/** Run `serve`; 0 or -errno. */
int thread_start(void (*serve)(void *context), void *context, struct thread **started);

/** Wait until it ends, and free it. */
void thread_join(struct thread *thread);

#endif

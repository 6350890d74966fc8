#ifndef WARMER_THREAD_H
#define WARMER_THREAD_H

#include <stdbool.h>
#include <stdint.h>

/** A mutex with condition variables. One file per operating system implements it. */
struct monitor;

/** The number of condition variables of a monitor; they are numbered from 0. */
#define MONITOR_CONDITIONS 7u

/** Create a monitor. Returns NULL when memory is short. */
struct monitor *monitor_create(void);

/** Free the monitor, which no thread may hold or wait for. NULL is allowed. */
void monitor_destroy(struct monitor *monitor);

/** Lock and unlock the mutex. */
void monitor_enter(struct monitor *monitor);
void monitor_leave(struct monitor *monitor);

/** Unlock, wait until the condition is signalled, lock again. It may also return without a signal. */
void monitor_wait(struct monitor *monitor, unsigned condition);

/** The same, but at most until clock_now_ns reaches `due_ns`. Returns false if that ended the wait. */
bool monitor_wait_until(struct monitor *monitor, unsigned condition, uint64_t due_ns);

/** Wake one waiting thread, or all of them. */
void monitor_signal(struct monitor *monitor, unsigned condition);
void monitor_broadcast(struct monitor *monitor, unsigned condition);

/** A thread with all signals blocked and a small stack, so large buffers belong on the heap. */
struct thread;

/** Start a thread that calls `serve` with `context`. Returns 0 or -errno. */
int thread_start(void (*serve)(void *context), void *context, struct thread **started);

/** Wait until the thread ends, and free it. */
void thread_join(struct thread *thread);

#endif

/* What is due when: a binary heap, so that thousands of requests can wait without a thread each. */
#ifndef FIRST_TOUCH_TIMERS_H
#define FIRST_TOUCH_TIMERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NANOSECONDS 1000000000ULL

/* Part of whatever waits; `fire` is called once, when `due_ns` has come. */
struct timer {
    uint64_t due_ns;
    /* Insertion order: equal times fire first in, first out. */
    uint64_t order;
    void (*fire)(struct timer *timer, uint64_t now_ns);
};

struct timers {
    struct timer **slots;
    size_t count;
    size_t capacity;
    uint64_t next_order;
};

/* Monotonic time in nanoseconds. */
uint64_t clock_now_ns(void);

/* Adds a timer that fires at `due_ns`. */
void timers_add(struct timers *timers, struct timer *timer, uint64_t due_ns);

/* Fires everything that is due at `now_ns`. */
void timers_run(struct timers *timers, uint64_t now_ns);

/* When the next timer is due; false when there is none. */
bool timers_next_due(const struct timers *timers, uint64_t *due_ns);

/* Frees the heap, not what waits in it. */
void timers_free(struct timers *timers);

#endif

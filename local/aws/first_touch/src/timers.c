#include "timers.h"

#include "memory.h"

#include <time.h>

uint64_t clock_now_ns(void) {
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * NANOSECONDS + (uint64_t)now.tv_nsec;
}

static bool is_before(const struct timer *left, const struct timer *right) {
    if (left->due_ns != right->due_ns)
        return left->due_ns < right->due_ns;
    return left->order < right->order;
}

static void sift_up(struct timer **slots, size_t index) {
    struct timer *moving = slots[index];

    while (index > 0) {
        size_t parent = (index - 1) / 2;

        if (!is_before(moving, slots[parent]))
            break;
        slots[index] = slots[parent];
        index = parent;
    }
    slots[index] = moving;
}

static void sift_down(struct timer **slots, size_t count) {
    struct timer *moving = slots[0];
    size_t index = 0;

    for (;;) {
        size_t child = 2 * index + 1;

        if (child >= count)
            break;
        if (child + 1 < count && is_before(slots[child + 1], slots[child]))
            child++;
        if (!is_before(slots[child], moving))
            break;
        slots[index] = slots[child];
        index = child;
    }
    slots[index] = moving;
}

void timers_add(struct timers *timers, struct timer *timer, uint64_t due_ns) {
    if (timers->count == timers->capacity) {
        timers->capacity = timers->capacity ? timers->capacity * 2 : 256;
        timers->slots = must_resize(timers->slots, timers->capacity, sizeof(*timers->slots));
    }
    timer->due_ns = due_ns;
    timer->order = timers->next_order++;
    timers->slots[timers->count] = timer;
    sift_up(timers->slots, timers->count++);
}

void timers_run(struct timers *timers, uint64_t now_ns) {
    while (timers->count > 0 && timers->slots[0]->due_ns <= now_ns) {
        struct timer *due = timers->slots[0];

        timers->slots[0] = timers->slots[--timers->count];
        if (timers->count > 0)
            sift_down(timers->slots, timers->count);
        due->fire(due, now_ns);
    }
}

bool timers_next_due(const struct timers *timers, uint64_t *due_ns) {
    if (timers->count == 0)
        return false;
    *due_ns = timers->slots[0]->due_ns;
    return true;
}

void timers_free(struct timers *timers) {
    free(timers->slots);
}

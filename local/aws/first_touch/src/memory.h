/* Allocation that cannot fail: a simulator without memory has nothing left to say. */
#ifndef FIRST_TOUCH_MEMORY_H
#define FIRST_TOUCH_MEMORY_H

#include <stdlib.h>

/* Zeroed memory for `count` items of `size` bytes; aborts when there is none. */
static inline void *must_calloc(size_t count, size_t size) {
    void *memory = calloc(count, size);

    if (!memory)
        abort();
    return memory;
}

/* Like realloc for `count` items of `size` bytes; aborts when there is no memory. */
static inline void *must_resize(void *old, size_t count, size_t size) {
    void *memory = realloc(old, count * size);

    if (!memory)
        abort();
    return memory;
}

#endif

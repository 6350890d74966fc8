#ifndef WARMER_EXTENTS_H
#define WARMER_EXTENTS_H

#include <stddef.h>
#include <stdint.h>

/** A run of blocks. */
struct extent {
    uint64_t start;
    uint64_t count;
};

/** A growing list of runs. Zero-initialise it before use. */
struct extents {
    struct extent *items;
    size_t length;
    size_t capacity;
};

/** Append a run; it is joined to the last one if they touch. Returns 0 or -ENOMEM. */
int extents_append(struct extents *list, uint64_t start, uint64_t count);

/** Sort the list by start, and join runs that touch or overlap. */
void extents_sort(struct extents *list);

/**
 * Leave each block to the first run of the list that has it, and keep the order: then no block is in two
 * runs. Returns 0, or -ENOMEM without any change. The time is that of sorting the list, however much runs
 * overlap.
 */
int extents_keep_first(struct extents *list);

/** Free the memory and leave an empty list. */
void extents_clear(struct extents *list);

#endif

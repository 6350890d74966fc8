#include "base/extents.h"

#include <errno.h>
#include <stdlib.h>

int extents_append(struct extents *list, uint64_t start, uint64_t count) {
    if (list->length > 0) {
        struct extent *last = &list->items[list->length - 1];
        if (last->start + last->count == start) {
            last->count += count;
            return 0;
        }
    }
    if (list->length == list->capacity) {
        size_t capacity = list->capacity == 0 ? 64 : list->capacity * 2;
        struct extent *items = realloc(list->items, capacity * sizeof *items);
        if (items == NULL) {
            return -ENOMEM;
        }
        list->items = items;
        list->capacity = capacity;
    }
    list->items[list->length++] = (struct extent){start, count};
    return 0;
}

static int by_start(const void *left, const void *right) {
    const struct extent *a = left;
    const struct extent *b = right;
    return (a->start > b->start) - (a->start < b->start);
}

void extents_sort(struct extents *list) {
    if (list->length < 2) {
        return;
    }
    qsort(list->items, list->length, sizeof *list->items, by_start);
    size_t kept = 0;
    for (size_t i = 1; i < list->length; i++) {
        struct extent *last = &list->items[kept];
        uint64_t end = last->start + last->count;
        if (end >= list->items[i].start) {
            uint64_t other = list->items[i].start + list->items[i].count;
            last->count = (other > end ? other : end) - last->start;
        } else {
            list->items[++kept] = list->items[i];
        }
    }
    list->length = kept + 1;
}

static int by_number(const void *left, const void *right) {
    uint64_t a = *(const uint64_t *)left;
    uint64_t b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

static size_t index_of(const uint64_t *points, size_t count, uint64_t point) {
    size_t low = 0;
    size_t high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (points[middle] < point) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/** The first gap between two points, from this one on, that no run has. */
static size_t find_free(size_t *next, size_t at) {
    while (next[at] != at) {
        next[at] = next[next[at]];
        at = next[at];
    }
    return at;
}

/** Go over the runs in their order; `points` are all places at which one begins or ends, ascending. */
static int keep_first(const struct extents *list, const uint64_t *points, size_t *next,
                      struct extents *kept) {
    size_t count = 2 * list->length;
    int failure = 0;
    for (size_t i = 0; i < count; i++) {
        next[i] = i;
    }
    for (size_t i = 0; i < list->length && failure == 0; i++) {
        uint64_t end = list->items[i].start + list->items[i].count;
        size_t at = find_free(next, index_of(points, count, list->items[i].start));
        while (failure == 0 && points[at] < end) {
            uint64_t length = points[at + 1] - points[at];
            failure = length == 0 ? 0 : extents_append(kept, points[at], length);
            next[at] = at + 1;
            at = find_free(next, at);
        }
    }
    return failure;
}

int extents_keep_first(struct extents *list) {
    struct extents kept = {0};
    if (list->length == 0) {
        return 0;
    }
    uint64_t *points = malloc(2 * list->length * sizeof *points);
    size_t *next = malloc(2 * list->length * sizeof *next);
    int failure = points == NULL || next == NULL ? -ENOMEM : 0;
    if (failure == 0) {
        for (size_t i = 0; i < list->length; i++) {
            points[2 * i] = list->items[i].start;
            points[2 * i + 1] = list->items[i].start + list->items[i].count;
        }
        qsort(points, 2 * list->length, sizeof *points, by_number);
        failure = keep_first(list, points, next, &kept);
    }
    free(points);
    free(next);
    if (failure != 0) {
        extents_clear(&kept);
        return failure;
    }
    extents_clear(list);
    *list = kept;
    return 0;
}

void extents_clear(struct extents *list) {
    free(list->items);
    *list = (struct extents){0};
}

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

void extents_clear(struct extents *list) {
    free(list->items);
    *list = (struct extents){0};
}

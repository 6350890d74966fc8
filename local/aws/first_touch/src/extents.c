#include "extents.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *load_line(const char *line, struct block_map *map, uint64_t *end) {
    uint64_t start, count;
    char rest;

    if (sscanf(line, "%" SCNu64 " %" SCNu64 " %c", &start, &count, &rest) != 2)
        return "is not 'start count'";
    if (start < *end)
        return "is not after the one before";
    if (count == 0 || start >= map->count || count > map->count - start)
        return "lies outside the volume";
    *end = start + count;
    for (uint64_t block = start; block < *end; block++)
        block_map_set_written(map, block);
    return NULL;
}

bool extents_load(const char *path, struct block_map *map) {
    FILE *file = fopen(path, "re");
    const char *complaint = NULL;
    uint64_t end = 0;
    char line[128];

    if (!file) {
        fprintf(stderr, "first-touch: cannot open %s: %s\n", path, strerror(errno));
        return false;
    }
    for (unsigned number = 1; !complaint && fgets(line, sizeof(line), file); number++) {
        complaint = load_line(line, map, &end);
        if (complaint)
            fprintf(stderr, "first-touch: %s:%u: the extent %s\n", path, number, complaint);
    }
    fclose(file);
    return !complaint;
}

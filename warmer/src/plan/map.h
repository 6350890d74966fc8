#ifndef WARMER_MAP_H
#define WARMER_MAP_H

#include "base/block_set.h"
#include "base/diag.h"
#include "base/extents.h"

#include <stddef.h>
#include <stdint.h>

/** How much order a list of extents must have. */
enum map_order {
    MAP_ASCENDING, /**< The map: ascending and disjoint, so that a damaged file is noticed. */
    MAP_ANY,       /**< What to read first: the order is the user's. */
};

/** Takes one extent that passed every check; 0 or -errno. */
typedef int map_sink(void *context, uint64_t start, uint64_t count);

/** A push parser for `start count` lines; feed it text in pieces of any size. */
struct map_parser {
    uint64_t device_blocks; /**< Extents must end at or before this block. */
    enum map_order order;
    map_sink *sink;
    void *context;
    uint64_t line;      /**< Number of the line being read, from 1. */
    uint64_t values[2]; /**< Start and count as far as read. */
    unsigned digits[2]; /**< Digits seen of each. */
    unsigned field;     /**< 0 in start, 1 in the gap or in count. */
    uint64_t end;       /**< Where the previous extent ended. */
};

/** Begin with line 1. */
void map_parser_init(struct map_parser *parser, uint64_t device_blocks, enum map_order order, map_sink *sink,
                     void *context);

/** Parse `length` bytes; 0, or WARMER_USAGE with line and reason in `diag`. */
int map_parser_feed(struct map_parser *parser, const char *text, size_t length, struct diag *diag);

/** The text is over: a last line without a newline is accepted, half a line is not. */
int map_parser_finish(struct map_parser *parser, struct diag *diag);

/** Read the map file `path` (`-`: standard input) into `set`, whose capacity is the device's. */
int map_load(const char *path, struct block_set *set, struct diag *diag);

/** Read the list of what to read first; any order, within `device_blocks`. */
int map_load_first(const char *path, uint64_t device_blocks, struct extents *list, struct diag *diag);

#endif

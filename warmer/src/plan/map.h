#ifndef WARMER_MAP_H
#define WARMER_MAP_H

#include "base/block_set.h"
#include "base/diag.h"
#include "base/extents.h"

#include <stddef.h>
#include <stdint.h>

/** The extents of --first that are kept: twice as many as the blocks of a hot set. The rest keep their place.
 */
#define MAP_FIRST_EXTENTS 262144u

/** The order that a list of extents must have. */
enum map_order {
    MAP_ASCENDING, /**< --map: ascending and disjoint, so that a damaged file is noticed. */
    MAP_ANY,       /**< --first: any order. */
};

/** Receives one extent that passed every check. Returns 0 or -errno. */
typedef int map_sink(void *context, uint64_t start, uint64_t count);

/** A parser of `start count` lines that is fed text in pieces of any size. */
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

/** Begin at line 1. */
void map_parser_init(struct map_parser *parser, uint64_t device_blocks, enum map_order order, map_sink *sink,
                     void *context);

/** Parse `length` bytes. Returns 0, or WARMER_USAGE with the line and the reason in `diag`. */
int map_parser_feed(struct map_parser *parser, const char *text, size_t length, struct diag *diag);

/** End the text. Accepts a last line without a newline, but not half a line. Returns as map_parser_feed. */
int map_parser_finish(struct map_parser *parser, struct diag *diag);

/**
 * Add the extents of the map file `path` (`-`: standard input) to `set`, whose capacity is the device's.
 * Returns 0, or an exit status with the reason in `diag`.
 */
int map_load(const char *path, struct block_set *set, struct diag *diag);

/**
 * Load the extents of the file `path`, in any order and within `device_blocks`, at most MAP_FIRST_EXTENTS of
 * them. `list` is empty before; each block is in it once, where it came first. Returns as map_load.
 */
int map_load_first(const char *path, uint64_t device_blocks, struct extents *list, struct diag *diag);

#endif

/* The written blocks of a snapshot, one `start count` (512 KiB block index, decimal) a line. */
#ifndef FIRST_TOUCH_EXTENTS_H
#define FIRST_TOUCH_EXTENTS_H

#include "blocks.h"

/* Marks the file's blocks as written; complains on standard error with the line's number and returns false.
 */
bool extents_load(const char *path, struct block_map *map);

#endif

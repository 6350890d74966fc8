#ifndef WARMER_DISK_H
#define WARMER_DISK_H

#include "base/diag.h"

#include <stdbool.h>

/** A whole disk, as the kernel knows it. */
struct disk {
    unsigned major, minor;
    char path[300];    /**< /dev/… */
    char sequence[32]; /**< Tells it from a later one with the same numbers. */
};

/**
 * Find the one whole disk that the block device at `path` stands on: itself, its partition's, or what
 * device-mapper made it of. Returns 0, or WARMER_CANNOT_OPEN with the reason in `diag`: it stands on more
 * than one, or on none whose requests the kernel traces.
 */
int disk_find(const char *path, struct disk *disk, struct diag *diag);

/** Whether it is still there. */
bool disk_is_there(const struct disk *disk);

#endif

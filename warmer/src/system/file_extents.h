#ifndef WARMER_FILE_EXTENTS_H
#define WARMER_FILE_EXTENTS_H

#include "base/diag.h"
#include "base/extents.h"

#include <stddef.h>
#include <stdint.h>

/** The disk that a file lies on. Files of one disk have equal names. */
struct file_disk {
    char name[512];
};

/**
 * Append the extents of a file to `list`, in bytes from the beginning of the disk (not of the partition), in
 * the order of the file. Holes, and data that is not on the disk yet, are left out. Returns 0, or
 * WARMER_CANNOT_OPEN with the reason in `diag`.
 */
int file_extents_find(const char *path, struct extents *list, struct file_disk *disk, struct diag *diag);

#endif

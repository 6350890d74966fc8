#ifndef WARMER_FILE_EXTENTS_H
#define WARMER_FILE_EXTENTS_H

#include "base/diag.h"
#include "base/extents.h"

#include <stddef.h>
#include <stdint.h>

/** Which disk a file lies on: files of one disk have equal names. */
struct file_disk {
    char name[512];
};

/**
 * Append where the bytes of a file lie, in bytes from the beginning of its disk (not of its partition), in
 * the file's order. What is not on the disk yet, and holes, are left out. 0, or WARMER_CANNOT_OPEN with the
 * reason.
 */
int file_extents_find(const char *path, struct extents *list, struct file_disk *disk, struct diag *diag);

#endif

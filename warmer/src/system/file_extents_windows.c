/** Where files lie: not supported on Windows. */
#include "system/file_extents.h"

int file_extents_find(const char *path, struct extents *list, struct file_disk *disk, struct diag *diag) {
    (void)list;
    (void)disk;
    return diag_refuse(diag, WARMER_CANNOT_OPEN, "cannot map %s: not supported on Windows", path);
}

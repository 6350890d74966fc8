#ifndef WARMER_MOUNT_POINT_H
#define WARMER_MOUNT_POINT_H

#include "base/diag.h"
#include "base/texts.h"

#include <stdbool.h>

/** What Windows knows of the file systems of one disk, and how they get their drive letters and folders. */
struct mount_table {
    void *context;
    /** Append the names of the disk's volumes, as \\?\Volume{…}\. */
    void (*find_volumes)(void *context, struct texts *volumes);
    /** Append the drive letters and folders of a volume, with a backslash at the end of each. */
    void (*find_points)(void *context, const char *volume, struct texts *points);
    /** Give a volume a drive letter or a folder, or take one away. They return 0 or an errno. */
    int (*add)(void *context, const char *point, const char *volume);
    int (*remove)(void *context, const char *point);
};

/** Whether a text is a drive letter or the path of a folder below it: E: or E:\ or E:\data. */
bool mount_point_is_valid(const char *text);

/**
 * Give the only volume of a disk the drive letter or folder `wished`. A volume has at most one drive letter,
 * so a wished one takes the place of another; where that fails, the other is given back. Nothing happens to a
 * volume that has the wished one already. Returns 0, or a refusal's status.
 */
int mount_point_give(const struct mount_table *table, const char *wished, struct diag *diag);

#endif

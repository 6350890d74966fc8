#ifndef WARMER_PLACES_LINUX_H
#define WARMER_PLACES_LINUX_H

#include "mount/file_system_linux.h"

#include <stddef.h>

#define PLACES_LIMIT 32u
#define PLACE_PATH_BYTES 4096u
#define PLACE_OPTIONS_BYTES 4096u

/** Where a file system belongs, and how it is mounted there. */
struct place {
    char path[PLACE_PATH_BYTES]; /**< Plain. */
    char options[PLACE_OPTIONS_BYTES];
};

struct places {
    struct place items[PLACES_LIMIT];
    size_t count;
    char left_out[512]; /**< Folders that fstab names for it and that are not meant; empty: none. */
};

/** What a request says. */
struct mount_wish {
    const char *path;    /**< NULL: the folders that fstab names. */
    const char *options; /**< Empty: none. Fstab's come behind them and count for more. */
};

/**
 * Find out where a file system is to be mounted: at the folder that is wished for, or else at all that
 * `fstab` names for it, in its order, save those with noauto where others have not. Folders of the system,
 * hidden ones, those in a folder that others than root can write, and those behind a symbolic link are
 * refused, and so are options that no request may give. Returns 0, or a refusal's status.
 */
int places_find(const char *fstab, const struct file_system *file_system, const struct mount_wish *wish,
                struct places *places, struct diag *diag);

/**
 * Whether everything that `fstab` has above the folder is mounted, or is one of the places before this one:
 * data in a folder would be hidden as soon as such a file system comes. Returns 0, or WARMER_NOT_MOUNTABLE.
 */
int places_check_above(const char *fstab, const struct places *places, size_t place, struct diag *diag);

#endif

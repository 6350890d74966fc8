#ifndef WARMER_MOUNTED_LINUX_H
#define WARMER_MOUNTED_LINUX_H

#include "mount/mount_tables.h"

#include <stdio.h>

/** The mounts of this process's own namespace. */
#define MOUNTED_LIST "/proc/self/mountinfo"

/** A mount of this process's own namespace. */
struct mounted {
    unsigned major, minor; /**< Of the file system. */
    char type[64];
    char source[512];
};

/**
 * Whether the source of a mount whose number no device has is its device. The kernel has looked it up for
 * btrfs alone; of tmpfs or FUSE it is any text that whoever mounts it likes, as every user may.
 */
bool mounted_source_counts(const char *type, const char *source);

/**
 * Find the last mount at a folder, which is the one that is seen there. Returns 1 if there is one, 0 if there
 * is none, or -errno where MOUNTED_LIST could not all be read.
 */
int mounted_at(const char *path, struct mounted *found);

/** The mounts that a process sees, one after the other. */
struct mountinfo {
    FILE *stream;
    char *text;
    size_t size;
    int failure; /**< -errno of a look that failed; then there are no more lines. */
};

/** Open that of a process, such as "self" or "77". */
void mountinfo_open(const char *process, struct mountinfo *mountinfo);

/** Find the next mount; false: there is none, or it could not be read. */
bool mountinfo_next(struct mountinfo *mountinfo, struct mount_line *line);

/** Returns 0, or -errno where not all mounts up to here could be read. */
int mountinfo_close(struct mountinfo *mountinfo);

#endif

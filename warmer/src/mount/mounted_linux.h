#ifndef WARMER_MOUNTED_LINUX_H
#define WARMER_MOUNTED_LINUX_H

#include "mount/mount_tables.h"

#include <stdio.h>

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

/** Find the last mount at a folder, which is the one that is seen there; false: there is none. */
bool mounted_at(const char *path, struct mounted *found);

/** The mounts that a process sees, one after the other. */
struct mountinfo {
    FILE *stream;
    char *text;
    size_t size;
};

/** Open that of a process, such as "self" or "77"; false: it cannot be read. */
bool mountinfo_open(const char *process, struct mountinfo *mountinfo);

bool mountinfo_next(struct mountinfo *mountinfo, struct mount_line *line);

void mountinfo_close(struct mountinfo *mountinfo);

#endif

#ifndef WARMER_OURS_LINUX_H
#define WARMER_OURS_LINUX_H

#include "base/diag.h"
#include "device/family_linux.h"
#include "mount/mount_tables.h"
#include "mount/users_linux.h"

#define OURS_LIMIT 64u

struct our_mount {
    unsigned id;
    unsigned group; /**< The peer group of the mount that it stands on; 0: none. */
    char point[4096];
};

/** What this mount namespace has of a disk's file systems, in the order of mounting. */
struct ours {
    struct our_mount items[OURS_LIMIT];
    size_t count;
    bool is_cut; /**< There are more. */
    struct placed placed;
    char below[512]; /**< Where another file system is mounted below one of them; empty: nowhere. */
};

/**
 * Find the family of a disk. Returns 0, WARMER_NO_DEVICE where it is gone, or WARMER_NOT_MOUNTABLE where that
 * is not known.
 */
int ours_begin(const char *disk, struct family *family, struct diag *diag);

/** Find them. A look that fails is noted as unknown of the family. */
void ours_find(struct family *family, struct ours *found);

/** Whether one of them has this number, which no other mount has in any namespace. */
bool ours_have(const struct ours *ours, unsigned id);

/** Whether a mount is of a file system of the disk or one of its partitions, as a process sees it whose root
 * folder is at `root`. */
bool is_of_family(struct family *family, const char *root, const struct mount_line *line);

#endif

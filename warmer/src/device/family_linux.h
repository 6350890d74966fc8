#ifndef WARMER_FAMILY_LINUX_H
#define WARMER_FAMILY_LINUX_H

/** Only the files that look for a device's users include this. */
#include "base/texts.h"
#include "device/use_linux.h"

/** More than a disk can have partitions, and what is made of them. */
#define FAMILY_LIMIT 512u
#define FAMILY_NAME_BYTES 300u

struct member {
    struct use_node node;
    char name[FAMILY_NAME_BYTES]; /**< /dev/… */
    bool is_own;                  /**< The disk or one of its partitions, and not what is made of them. */
};

/** The disk, its partitions, and what is made of them, of which further devices can be made. */
struct family {
    const struct use_tree *tree;
    struct member members[FAMILY_LIMIT];
    size_t count;
    struct texts made; /**< In words: LVM, RAID, encryption, loop devices, exports. */
};

/** Find the family of a device by what it is; `name` is for one that the kernel does not list. */
void family_of(const struct use_tree *tree, const struct use_node *node, const char *name,
               struct family *family);

/** Find the family of the device at `path`; empty if there is none. */
void family_find(const struct use_tree *tree, const char *path, struct family *family);

/** The member at a node; NULL: it is none. */
const struct member *family_member(const struct family *family, const struct use_node *node);

/**
 * The member that a path leads to, as a process sees it whose root folder is at `root`. A path that leads
 * nowhere is compared with the members' names. NULL: none.
 */
const struct member *family_at(const struct family *family, const char *root, const char *path);

/** The member whose numbers are written major:minor; NULL: none. */
const struct member *family_numbered(const struct family *family, const char *number);

#endif

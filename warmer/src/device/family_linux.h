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

/**
 * The disk, its partitions, and what is made of them, of which further devices can be made. A look that
 * failed is no answer: whoever has looked asks whether something is unknown.
 */
struct family {
    const struct use_tree *tree;
    char processes[FAMILY_NAME_BYTES]; /**< The folder that lists the machine's processes. */
    struct member members[FAMILY_LIMIT];
    size_t count;
    struct texts made;    /**< In words: LVM, RAID, encryption, loop devices, exports. */
    struct texts unknown; /**< In words: looks that failed. */
};

/** Note that a look failed, with -errno, unless there is nothing to look at, or it has ended. */
void family_doubt(struct family *family, const char *what, int failure);

/** Note that a look at what must be there failed, with -errno. */
void family_miss(struct family *family, const char *what, int failure);

/** As use_look; a failure is noted. */
bool family_look(struct family *family, const char *path, struct use_node *node);

/** Whether the device is a block device, and no regular file in its place. */
bool family_is_block(const struct family *family);

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
const struct member *family_at(struct family *family, const char *root, const char *path);

/** The member whose numbers are written major:minor; NULL: none. */
const struct member *family_numbered(const struct family *family, const char *number);

#endif

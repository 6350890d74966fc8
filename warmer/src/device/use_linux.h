#ifndef WARMER_USE_LINUX_H
#define WARMER_USE_LINUX_H

/** What use_linux.c and claim_linux.c share, and the test that shows them a tree of its own. */
#include "device/use.h"

#include <stdbool.h>
#include <stddef.h>

/** Where the kernel's folders /proc and /sys and the folder /dev are looked for. */
struct use_tree {
    const char *root; /**< Empty: the system's own. */

    /** Write major:minor of the block device at `path`; false if it is none. */
    bool (*number_of)(const char *path, char *number, size_t size);
};

/** The system that this program runs on. */
extern const struct use_tree use_own_tree;

/** As use_find. */
void use_find_below(const struct use_tree *tree, const char *path, struct device_use *use);

#endif

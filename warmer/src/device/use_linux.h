#ifndef WARMER_USE_LINUX_H
#define WARMER_USE_LINUX_H

/** What the files that look for a device's users share, and the tests that show them trees of their own. */
#include "device/use.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum use_kind {
    USE_OTHER, /**< A folder, a socket, … */
    USE_BLOCK,
    USE_FILE, /**< A regular one. */
    USE_RING, /**< A ring of io_uring, or another file without a place. */
};

/** What a path leads to, whatever it is called. */
struct use_node {
    enum use_kind kind;
    unsigned major, minor; /**< Of the block device; else of the file system that it lies on. */
    uint64_t inode;        /**< 0: of a block device. */
};

/** Where the kernel's folders /proc and /sys and the folder /dev are looked for. */
struct use_tree {
    const char *root; /**< Empty: the system's own. */

    /** Find what a path in an open folder leads to; links are followed. False: errno says why. */
    bool (*look_in)(int folder, const char *path, struct use_node *node);

    /** Find what a loop device stands on. False: errno says why; ENXIO: it stands on nothing. */
    bool (*find_backing)(const char *path, struct use_node *node);

    /** Whether a thread has the same descriptors as its process. False also where nobody knows. */
    bool (*shares_files)(unsigned long process, unsigned long thread);

    /** Open the device at `path`, if it is this one, for reading and alone, and close it. 0 or -errno. */
    int (*take_alone)(const char *path, const struct use_node *node);
};

/** The system that this program runs on. */
extern const struct use_tree use_own_tree;

/** Find what a whole path leads to; links are followed. False: errno says why. */
bool use_look(const struct use_tree *tree, const char *path, struct use_node *node);

bool use_same_node(const struct use_node *one, const struct use_node *other);

/** Write major:minor of the block device at `path`, as the kernel writes them; false if it is none. */
bool use_number(const struct use_tree *tree, const char *path, char *number, size_t size);

/** As find_device. */
bool find_device_below(const struct use_tree *tree, const char *volume_id, char *path, size_t size);

/** As use_find. */
void use_find_below(const struct use_tree *tree, const char *path, struct device_use *use);

/** The same without the kernel's own word, for a device that this process is about to take, or has taken. */
void use_find_visible(const struct use_tree *tree, const char *path, struct device_use *use);

/** Write to `who` what holds a device that could not be opened alone; at least that the kernel does. */
void use_name_holder(const struct use_tree *tree, const char *path, char *who, size_t size);

/**
 * Look whether somebody has begun to use a device that this process alone has taken, by its major:minor,
 * because a path may lead elsewhere by now: a mount, something that is made of it, whoever may write by a
 * descriptor, a mapping or a ring. Writes to `who` what it is, or that nobody knows. One thread at a time may
 * look.
 */
bool use_watch(const struct use_tree *tree, const char *number, char *who, size_t size);

#endif

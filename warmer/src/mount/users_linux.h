#ifndef WARMER_USERS_LINUX_H
#define WARMER_USERS_LINUX_H

#include <stdbool.h>
#include <stddef.h>

#define PLACED_NUMBERS 256u
#define PLACED_MOUNTS 256u

/** Where files of a volume are, whatever their paths are called. */
struct placed {
    struct {
        unsigned major, minor;
    } numbers[PLACED_NUMBERS]; /**< Of its file systems, as stat(2) shows them. */
    size_t number_count;
    unsigned mounts[PLACED_MOUNTS]; /**< Of file systems that show each part under a number of its own. */
    size_t mount_count;
};

void placed_add_number(struct placed *placed, unsigned major, unsigned minor);
void placed_add_mount(struct placed *placed, unsigned id);

/**
 * Whether what a path leads to lies on the volume (1) or not (0), as where it leads nowhere; else -errno. A
 * device's own file there counts as little as the device.
 */
int placed_has(const struct placed *placed, const char *path);

/** Find the number of the mount in which a path leads to something. Returns 0 or -errno. */
int mount_of_path(const char *path, unsigned *id);

/** Processes that use the volume, save this one. */
struct users {
    unsigned count;
    unsigned long first; /**< The number of one; 0: none. */
    char first_program[64];
    bool has_init;  /**< The first process of all is one, which nobody may end. */
    bool is_hidden; /**< Of some process it cannot be seen what it uses. */
};

/**
 * Find the processes that use the volume: by working folder, root folder, program, open file or mapping, of
 * each thread, in every mount namespace. With a `signal` other than 0 each of them gets it, if it still uses
 * the volume when nobody else can have its number any more.
 */
void users_find(const struct placed *placed, int signal, struct users *found);

#endif

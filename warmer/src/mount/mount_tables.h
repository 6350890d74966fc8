#ifndef WARMER_MOUNT_TABLES_H
#define WARMER_MOUNT_TABLES_H

#include <stdbool.h>
#include <stddef.h>

/** One line of fstab, as libmount reads it; the texts are in the line, which was changed. */
struct fstab_line {
    char *source; /**< Such as UUID=… without quotes, or a path. */
    char *target; /**< A plain path. */
    char *type;
    char *options;
};

/**
 * Take a line of fstab apart. False: it is empty, a comment, not complete, or its target is no plain path, as
 * that of swap space is not.
 */
bool fstab_parse(char *line, struct fstab_line *found);

/** One line of /proc/PID/mountinfo (proc(5)); the texts are in the line, which was changed. */
struct mount_line {
    unsigned id;
    unsigned parent;
    unsigned major, minor; /**< Of the file system, which may be a number of its own that no device has. */
    unsigned group;        /**< The mount's peer group; 0: none. */
    unsigned master;       /**< The group that it gets mounts and unmounts from; 0: none. */
    char *root;            /**< The folder in the file system. */
    char *point;
    char *type;
    char *source;
    char *options; /**< The file system's own. */
};

/** Take a line of mountinfo apart; false: it is none. */
bool mountinfo_parse(char *line, struct mount_line *found);

/**
 * Make a whole path plain, in place: no two slashes in a row, none at its end, no /./ in it. False, where it
 * is no whole path, or has /../ in it or a control character.
 */
bool path_make_plain(char *path);

/** Decode in place what udev and blkid make of a label: \x20 stands for a blank. */
void udev_decode(char *text);

/** Whether a plain path is below a plain folder; the folder itself is not. */
bool path_is_below(const char *path, const char *folder);

#endif

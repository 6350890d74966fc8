#ifndef WARMER_FOLDER_LINUX_H
#define WARMER_FOLDER_LINUX_H

/**
 * How a process of root's acts in folders in which other users may change any name at any moment.
 *
 * A path is followed once, name by name, and what is found is kept open: later steps take the descriptor.
 * A symbolic link is followed where nobody else can change it, so a user's own link leads nowhere. What is
 * made is new (O_EXCL), and a folder is this user's own before anything is put into it. What is deleted is
 * a name in an open folder, never a path, and nothing descends into folders.
 */
#include "system/folder.h"

#include <limits.h>
#include <stdbool.h>

/** What a name in a folder may have, with its end. */
#define FOLDER_NAME_BYTES (NAME_MAX + 1)

/** Said of each folder that looks like one of this program's and is left alone. */
typedef void folder_notice(void *context, const char *name, const char *reason);

/**
 * Follow a path to a folder, and make what is missing if `makes` is set. Returns a descriptor that only leads
 * on (O_PATH), or -errno: -ELOOP where a symbolic link on the way is one that others can change.
 */
int folder_walk(const char *path, bool makes);

/** Follow a path to the folder of a file, and write the file's name. Returns as folder_walk. */
int folder_walk_to(const char *path, char name[static FOLDER_NAME_BYTES]);

/** Open a folder to read its names. `place` is of folder_walk. Returns a descriptor or -errno. */
int folder_open(int place);

/** Let the disk keep the names of a folder. Returns 0 or -errno. */
int folder_keep_names(int place);

/**
 * Make a new and empty file of this user's own, for writing. What had its name loses it, and is not changed.
 * Returns a descriptor or -errno.
 */
int folder_create(int place, const char *name);

/**
 * Make a new folder in `place`, named with `prefix` and a number. Only this user can write to it, and nobody
 * can put another one in its place unseen. Programs that this process starts have it, too. Returns 0 or
 * -errno.
 */
int folder_make_own(int place, const char *prefix, struct folder **made);

/**
 * Delete what folder_make_own has left in `place`: real folders of this user's own, on the same file system,
 * with the mark that it gives them, which no process has. `is_locked`: leave those of which that cannot be
 * known, as on file systems without locks. `notice` may be NULL.
 */
void folder_delete_own(int place, const char *prefix, bool is_locked, folder_notice *notice, void *context);

#endif

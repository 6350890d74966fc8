#ifndef WARMER_FOLDER_H
#define WARMER_FOLDER_H

#include <stddef.h>

/** Make a folder and those above it. Returns 0 or -errno. */
int folder_make(const char *path);

/**
 * Make a new folder for temporary files, and write its path. It is this process's until that ends: the next
 * process that makes one deletes what others have left, where the system knows who has a folder (not on
 * Windows). Returns 0 or -errno.
 */
int folder_make_temporary(const char *home, char *path, size_t size);

/** Delete the folders for temporary files whose processes have ended. */
void folder_delete_left(const char *home);

/** Delete the files of a folder that nobody has changed for so many days, except `keep`. */
void folder_forget(const char *path, unsigned days, const char *keep);

/** Delete a folder with its files; folders in it stay, and then it stays too. */
void folder_delete(const char *path);

#endif

#ifndef WARMER_FOLDER_H
#define WARMER_FOLDER_H

#include <stdbool.h>
#include <stddef.h>

/**
 * A new folder of this process's own for files that go at its end, which may lie among folders of other
 * users. On Linux it is open as long as it is there, and all that is done in it is done by the descriptor.
 * folder_linux.h says what others can do to it.
 */
struct folder;

/**
 * Make a folder for temporary files. It is this process's until that ends: the next process that makes one
 * deletes what others have left, where the system knows who has a folder (not on Windows). Returns 0 or
 * -errno.
 */
int folder_make_temporary(const char *home, struct folder **made);

/**
 * A path of the folder, for this process and for programs that it starts. On Linux it leads to the folder
 * whatever has become of its name.
 */
const char *folder_path(const struct folder *folder);

/** What a process needs to keep open in order to delete the folder; -1: nothing. */
int folder_descriptor(const struct folder *folder);

/**
 * Delete the folder with its files; folders in it that are not empty stay, and then it stays too. Returns
 * whether it is gone. NULL is allowed.
 */
bool folder_delete(struct folder *folder);

/** Delete the folders for temporary files whose processes have ended. */
void folder_delete_left(const char *home);

/** Make a folder and those above it. Returns 0 or -errno. */
int folder_make(const char *path);

/** Delete the files of a folder that nobody has changed for so many days, except `keep`. */
void folder_forget(const char *path, unsigned days, const char *keep);

/** Why one of these or a function of file.h failed, as a text. `failure` is -errno. */
const char *folder_explain(int failure);

#endif

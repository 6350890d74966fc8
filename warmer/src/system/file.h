#ifndef WARMER_FILE_H
#define WARMER_FILE_H

#include <stdbool.h>
#include <stdio.h>

/** Paths are UTF-8 on Windows. One file per operating system implements this. */

/** Whether this process could read this file or device. A pipe is not waited for. */
bool file_is_there(const char *path);

/** Open a file for reading bytes. Returns NULL with errno set on failure. */
FILE *file_open(const char *path);

/**
 * Open a file that this program has written, for reading bytes. On Linux it is a regular file of this user's
 * own and no link, and a pipe in its place is not waited for. Returns NULL with errno set on failure.
 */
FILE *file_open_own(const char *path);

/**
 * Open a new file of this user's own for writing bytes. What had its name loses it; on Linux a link is not
 * followed, and another name of the same file keeps its bytes. Returns NULL with errno set on failure.
 */
FILE *file_create(const char *path);

/** Close a new file once the disk keeps its bytes and its name. Returns 0 or -errno; it is closed anyway. */
int file_close_kept(FILE *stream, const char *path);

/** Delete a file or an empty folder. Returns 0 or -errno. */
int file_delete(const char *path);

/** The folder for temporary files; on Windows `home`, which other users cannot write to. */
const char *file_temporary_folder(const char *home);

#endif

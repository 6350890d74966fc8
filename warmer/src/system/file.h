#ifndef WARMER_FILE_H
#define WARMER_FILE_H

#include <stdio.h>

/** Paths are UTF-8 on Windows. One file per operating system implements this. */

/** Open a file for reading bytes. Returns NULL with errno set on failure. */
FILE *file_open(const char *path);

/** Open a file of this user's own for writing bytes, empty. Returns NULL with errno set on failure. */
FILE *file_create(const char *path);

/** Let the disk keep the name of a new file, which a crash could take back. Returns 0 or -errno. */
int file_keep_name(const char *path);

/** Close a new file once the disk keeps its bytes and its name. Returns 0 or -errno; it is closed anyway. */
int file_close_kept(FILE *stream, const char *path);

/** Make one folder of this user's own. Returns 0 or -errno. */
int file_make_folder(const char *path);

/**
 * Take a folder of this user's own that no process has; it is taken until this process ends. Returns -EBUSY:
 * it is another's, another process has it, or it is gone; else a descriptor, or 0 where none can be taken, as
 * on Windows.
 */
int file_take_folder(const char *path);

/** Delete a file or an empty folder. Returns 0 or -errno. */
int file_delete(const char *path);

/** The folder for temporary files; on Windows `home`, which other users cannot write to. */
const char *file_temporary_folder(const char *home);

#endif

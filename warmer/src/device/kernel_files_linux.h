#ifndef WARMER_KERNEL_FILES_LINUX_H
#define WARMER_KERNEL_FILES_LINUX_H

/** What the files that look for a device's users share: the kernel's folders /proc and /sys. */
#include <stdbool.h>
#include <stddef.h>

#define KERNEL_PATH_BYTES 4096u

/** Called for an entry of a folder, whose path is `path` and whose own name is `name`. */
typedef void kernel_visit(const char *path, const char *name, void *context);

/**
 * Call for each entry of a folder, save hidden ones. Returns how many there were, or -errno where not all of
 * them could be read.
 */
int kernel_for_each(const char *path, kernel_visit *visit, void *context);

/** The first line of a file, without its end. Returns 0 or -errno; then the line is empty. */
int kernel_read_line(const char *folder, const char *file, char *line, size_t size);

/** Called for a line of a file, without its end; it may be changed. */
typedef void kernel_take(char *line, void *context);

/** Call for each line of a file, of any length. Returns 0, or -errno where not all of them could be read. */
int kernel_for_each_line(const char *path, kernel_take *take, void *context);

/** The same of a descriptor that is open, and is closed. */
int kernel_for_each_line_of(int descriptor, kernel_take *take, void *context);

/**
 * Call for the path of each swap area that the file at `path` lists, as /proc/swaps does. Returns 0, or
 * -errno where not all of them could be read; a kernel without swap has no such file.
 */
int kernel_for_each_swap(const char *path, kernel_take *take, void *context);

/** Find the number of the mount in which a file was opened. Returns 0 or -errno. */
int kernel_mount_of(int descriptor, unsigned *id);

/** Whether a failure, as -errno, only says that there is nothing, or no more: a process may have ended. */
bool kernel_is_absence(int failure);

/** Decode a path in place, as proc(5) writes them: \040 stands for a blank. */
void kernel_decode(char *text);

/** Whether a name in /proc is the number of a process. */
bool kernel_is_number(const char *name);

#endif

#ifndef WARMER_KERNEL_FILES_LINUX_H
#define WARMER_KERNEL_FILES_LINUX_H

/** What the files that look for a device's users share: the kernel's folders /proc and /sys. */
#include <stdbool.h>
#include <stddef.h>

#define KERNEL_PATH_BYTES 4096u

/** Called for an entry of a folder, whose path is `path` and whose own name is `name`. */
typedef void kernel_visit(const char *path, const char *name, void *context);

/** Call for each entry of a folder, save hidden ones. Returns how many there were, or -errno. */
int kernel_for_each(const char *path, kernel_visit *visit, void *context);

/** The first line of a file, without its end; empty if there is none. */
void kernel_read_line(const char *folder, const char *file, char *line, size_t size);

/** Decode a path in place, as proc(5) writes them: \040 stands for a blank. */
void kernel_decode(char *text);

/** Whether a name in /proc is the number of a process. */
bool kernel_is_number(const char *name);

#endif

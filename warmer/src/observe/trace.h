#ifndef WARMER_TRACE_H
#define WARMER_TRACE_H

#include "base/diag.h"

#include <stddef.h>

/**
 * An instance of the kernel's tracing of this process's own (Documentation/trace/ftrace.rst, "Instances"). It
 * goes when it is closed, by a guard if something ends this process, and at the next `observe`, `run`
 * or `device-use` if not even that was left.
 */
struct trace;

/**
 * Make the instance that stands for the block device `major`:`minor`. `root` is where tracefs is; NULL: where
 * it is mounted, and else a mount that only this process sees. What no process has an instance for any more
 * is removed. `litter` is a file that the guard deletes as well; NULL: none. Returns 0, or
 * WARMER_CANNOT_OPEN with the reason in `diag`.
 */
int trace_open(const char *root, unsigned major, unsigned minor, const char *litter, struct trace **opened,
               struct diag *diag);

/** Remove the instances that no process has any more, if that can be. On Windows there are none. */
void trace_sweep(void);

/** Remove the instance. Its files must be closed. NULL is allowed. */
void trace_close(struct trace *trace);

/** Write the path of a file below the instance. */
void trace_path(const struct trace *trace, const char *file, char *path, size_t size);

/** Write a text to a file below the instance. Returns 0 or -errno. */
int trace_write(const struct trace *trace, const char *file, const char *text);

/** Read a file below the instance, or below tracefs if it begins with a slash, as text. Returns 0 or -errno.
 */
int trace_read(const struct trace *trace, const char *file, char *text, size_t size);

#endif

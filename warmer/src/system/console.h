#ifndef WARMER_CONSOLE_H
#define WARMER_CONSOLE_H

#include <stdbool.h>

/**
 * Make the standard streams binary and the command line UTF-8. Call this first: it may replace the arguments.
 * A standard stream that is closed gets a file that takes nothing and gives nothing, so that no device that
 * is opened takes its place. False: there is none. One file per operating system implements it.
 */
bool console_prepare(int *count, char ***arguments);

/** Whether all that was printed so far was written out. */
bool console_is_good(void);

/** The same at the end; nothing can be printed any more. */
bool console_end(void);

#endif

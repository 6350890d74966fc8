#ifndef WARMER_TOOL_LINUX_H
#define WARMER_TOOL_LINUX_H

#include <stddef.h>

/** What a program printed. */
struct tool_output {
    char text[16384]; /**< Of standard output; what does not fit is left out. */
    char errors[512]; /**< Of standard error, the last line. */
};

/**
 * Run a program of the system to its end, for a minute at most. `words` end with NULL. Returns its exit
 * status, or a negative number: it could not be started, or something ended it.
 */
int tool_run(const char *const *words, struct tool_output *output);

#endif

#include "system/console.h"

#include <sys/prctl.h>

/**
 * Bytes are bytes here, and the command line is what the shell made of it. The process gets the program's
 * name, whatever its file is called, so that `warmer observe` knows the reads of a warm-up.
 */
void console_prepare(int *count, char ***arguments) {
    (void)count;
    (void)arguments;
    prctl(PR_SET_NAME, "warmer");
}

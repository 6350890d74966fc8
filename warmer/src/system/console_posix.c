#include "system/console.h"

/** Nothing to do: bytes are bytes here, and the command line is what the shell made of it. */
void console_prepare(int *count, char ***arguments) {
    (void)count;
    (void)arguments;
}

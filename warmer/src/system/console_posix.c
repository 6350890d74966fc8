#include "system/console.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

/** Descriptors are given from the lowest free one on, so this is the closed one's. */
static bool fill(int descriptor) {
    int mode = descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY;
    return fcntl(descriptor, F_GETFD) >= 0 || open("/dev/null", mode) == descriptor;
}

/**
 * Bytes are bytes here, and the command line is what the shell made of it. The process gets the program's
 * name, whatever its file is called, so that `warmer observe` knows the reads of a warm-up.
 */
bool console_prepare(int *count, char ***arguments) {
    (void)count;
    (void)arguments;
    prctl(PR_SET_NAME, "warmer");
    return fill(STDIN_FILENO) && fill(STDOUT_FILENO) && fill(STDERR_FILENO);
}

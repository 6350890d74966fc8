/** What the systems have in common. */
#include "system/console.h"

#include <stdio.h>

bool console_is_good(void) {
    return fflush(stdout) == 0 && ferror(stdout) == 0;
}

bool console_end(void) {
    bool is_good = console_is_good();
    return fclose(stdout) == 0 && is_good;
}

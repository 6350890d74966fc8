/** `warmer observe` asks Linux's tracing which blocks are read; Windows has nothing like it. */
#include "commands/commands.h"

int command_observe(const struct options *options, struct diag *diag) {
    (void)options;
    return diag_refuse(diag, WARMER_CANNOT_OPEN, "cannot observe: only Linux tells which blocks are read");
}

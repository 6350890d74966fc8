#ifndef WARMER_COMMANDS_H
#define WARMER_COMMANDS_H

#include "base/diag.h"
#include "commands/options.h"

/** Each prints its result object and returns the exit status, or refuses with the reason in `diag`. */
int command_warm(const struct options *options, struct diag *diag);
int command_verify(const struct options *options, struct diag *diag);
int command_inspect(const struct options *options, struct diag *diag);
int command_apply(const struct options *options, struct diag *diag);
int command_bench(const struct options *options, struct diag *diag);
int command_device_use(const struct options *options, struct diag *diag);
int command_observe(const struct options *options, struct diag *diag);
int command_mount(const struct options *options, struct diag *diag);
int command_unmount(const struct options *options, struct diag *diag);
int command_run(const struct options *options, struct diag *diag);

/** Prints a list for --first; it prints a result object only if it refuses. */
int command_extents(const struct options *options, struct diag *diag);

#endif

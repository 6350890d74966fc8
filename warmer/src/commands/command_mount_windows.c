/** Windows mounts what is brought online (`warmer device-use --action=online`). */
#include "commands/commands.h"

static int refuse(struct diag *diag) {
    return diag_refuse(diag, WARMER_USAGE,
                       "Windows mounts a volume when its disk comes online: warmer device-use");
}

int command_mount(const struct options *options, struct diag *diag) {
    (void)options;
    return refuse(diag);
}

int command_unmount(const struct options *options, struct diag *diag) {
    (void)options;
    return refuse(diag);
}

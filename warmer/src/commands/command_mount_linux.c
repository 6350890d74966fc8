/** `warmer mount` and `warmer unmount`: what HookDocument does to a volume's file systems. */
#include "commands/commands.h"
#include "device/find.h"
#include "mount/mount_linux.h"
#include "mount/unmount_linux.h"
#include "system/clock.h"
#include "system/interrupt.h"

#include <stdio.h>
#include <stdlib.h>

/** An attached volume shows within seconds. */
#define DEVICE_SECONDS 60u

/** Find the disk, and wait for it. Returns 0 or a refusal's status. */
static int find_disk(const struct options *options, char *path, size_t size, struct diag *diag) {
    char missing[512];
    for (unsigned second = 0; !find_device(options->volume, path, size); second++) {
        if (second >= DEVICE_SECONDS || interrupt_requested()) {
            snprintf(missing, sizeof missing, "%s", path);
            return diag_refuse(diag, WARMER_NO_DEVICE, "no %s after %u s", missing, second);
        }
        clock_pause_ms(1000);
    }
    return 0;
}

/** Programs are looked for where root alone can put them, and say everything in English. */
static int begin(const struct options *options, char *disk, size_t size, struct diag *diag) {
    setenv("PATH", "/usr/sbin:/usr/bin:/sbin:/bin", 1);
    setenv("LC_ALL", "C", 1);
    setvbuf(stdout, NULL, _IOLBF, 0);
    return find_disk(options, disk, size, diag);
}

int command_mount(const struct options *options, struct diag *diag) {
    char disk[512];
    struct mount_wish wish = {.path = options->path, .options = options->mount_options};
    int status = begin(options, disk, sizeof disk, diag);
    return status == 0 ? mount_volume(options->volume, disk, &wish, diag) : status;
}

int command_unmount(const struct options *options, struct diag *diag) {
    char disk[512];
    int status = begin(options, disk, sizeof disk, diag);
    return status == 0 ? unmount_disk(disk, diag) : status;
}

#include "device/writes.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#define BOOT_ID "/proc/sys/kernel/random/boot_id"

static void read_boot_id(struct writes *writes) {
    FILE *stream = fopen(BOOT_ID, "re");
    if (stream == NULL) {
        return;
    }
    if (fgets(writes->boot_id, sizeof writes->boot_id, stream) == NULL) {
        writes->boot_id[0] = '\0';
    }
    writes->boot_id[strcspn(writes->boot_id, "\n")] = '\0';
    fclose(stream);
}

/**
 * Documentation/block/stat.rst: the fifth number counts write requests, the seventh sectors written; the 12th
 * and the 14th count discards, which change what is on the device, too. Kernels before 4.18 do not count
 * them.
 */
void writes_read(const struct device *device, struct writes *writes) {
    struct stat status;
    char path[64];
    *writes = (struct writes){.is_counted = false};
    read_boot_id(writes);
    if (fstat(device_descriptor(device), &status) != 0 || !S_ISBLK(status.st_mode)) {
        return;
    }
    uint64_t discards = 0;
    uint64_t discarded = 0;
    snprintf(path, sizeof path, "/sys/dev/block/%u:%u/stat", major(status.st_rdev), minor(status.st_rdev));
    FILE *stream = fopen(path, "re");
    if (stream == NULL) {
        return;
    }
    int found =
        fscanf(stream, "%*s %*s %*s %*s %" SCNu64 " %*s %" SCNu64 " %*s %*s %*s %*s %" SCNu64 " %*s %" SCNu64,
               &writes->requests, &writes->sectors, &discards, &discarded);
    writes->is_counted = found >= 2;
    writes->requests += discards;
    writes->sectors += discarded;
    fclose(stream);
}

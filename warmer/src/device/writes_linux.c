#include "device/writes.h"

#include "device/kernel_files_linux.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

/**
 * Documentation/block/stat.rst: the fifth number counts write requests, the seventh sectors written; the 12th
 * and the 14th count discards, which change what is on the device, too. Kernels before 4.18 do not count
 * them.
 */
static bool parse_counts(const char *line, struct writes *writes) {
    uint64_t discards = 0;
    uint64_t discarded = 0;
    int found =
        sscanf(line, "%*s %*s %*s %*s %" SCNu64 " %*s %" SCNu64 " %*s %*s %*s %*s %" SCNu64 " %*s %" SCNu64,
               &writes->requests, &writes->sectors, &discards, &discarded);
    writes->requests += discards;
    writes->sectors += discarded;
    return found >= 2;
}

/**
 * A volume that was detached meanwhile, and written to elsewhere, is counted from nothing again, and may come
 * to the same counts. Its sequence number (Linux 5.15 and later) is another one then; without it, counts
 * prove nothing.
 */
void writes_read(const struct device *device, struct writes *writes) {
    struct stat status;
    char folder[64];
    char line[KERNEL_PATH_BYTES];
    *writes = (struct writes){.is_counted = false};
    kernel_read_line("/proc/sys/kernel/random", "boot_id", writes->boot_id, sizeof writes->boot_id);
    if (fstat(device_descriptor(device), &status) != 0 || !S_ISBLK(status.st_mode)) {
        return;
    }
    snprintf(folder, sizeof folder, "/sys/dev/block/%u:%u", major(status.st_rdev), minor(status.st_rdev));
    kernel_read_line(folder, "diskseq", line, sizeof line);
    bool is_numbered = sscanf(line, "%" SCNu64, &writes->sequence) == 1;
    kernel_read_line(folder, "stat", line, sizeof line);
    writes->is_counted = parse_counts(line, writes) && is_numbered;
}

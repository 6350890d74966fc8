#include "device/writes.h"

#include "device/kernel_files_linux.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

/** Write what is in memory and to be written, and wait for that; the disk is not asked to flush. */
#define SETTLE (SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER)

/**
 * Documentation/block/stat.rst: the fifth number counts write requests, the seventh sectors written; the 12th
 * and the 14th count discards, which change what is on the device, too. Kernels before 4.18, which do not
 * count those, have no sequence numbers either.
 */
static bool parse_counts(const char *line, struct writes *writes) {
    uint64_t discards = 0;
    uint64_t discarded = 0;
    int found =
        sscanf(line, "%*s %*s %*s %*s %" SCNu64 " %*s %" SCNu64 " %*s %*s %*s %*s %" SCNu64 " %*s %" SCNu64,
               &writes->requests, &writes->sectors, &discards, &discarded);
    writes->requests += discards;
    writes->sectors += discarded;
    return found == 4;
}

/**
 * Whether the kernel counts what is written to a disk. Anybody may turn that off and on again
 * (Documentation/block/queue-sysfs.rst, "iostats"); one that cannot be asked is not known to count.
 */
static bool is_counting(const char *folder) {
    char line[16];
    return kernel_read_line(folder, "queue/iostats", line, sizeof line) == 0 && strcmp(line, "1") == 0;
}

/**
 * A volume that was detached meanwhile, and written to elsewhere, is counted from nothing again, and may come
 * to the same counts. Its sequence number (Linux 5.15 and later) is another one then; without it, counts
 * prove nothing. What others have written without waiting for it is written first, so that it counts.
 */
void writes_read(const struct device *device, struct writes *writes) {
    struct stat status;
    char folder[64];
    char line[KERNEL_PATH_BYTES];
    *writes = (struct writes){.is_counted = false};
    (void)kernel_read_line("/proc/sys/kernel/random", "boot_id", writes->boot_id, sizeof writes->boot_id);
    int descriptor = device_descriptor(device);
    if (fstat(descriptor, &status) != 0 || !S_ISBLK(status.st_mode)) {
        return;
    }
    bool is_settled = sync_file_range(descriptor, 0, 0, SETTLE) == 0;
    snprintf(folder, sizeof folder, "/sys/dev/block/%u:%u", major(status.st_rdev), minor(status.st_rdev));
    bool is_numbered = kernel_read_line(folder, "diskseq", line, sizeof line) == 0 &&
                       sscanf(line, "%" SCNu64, &writes->sequence) == 1;
    bool is_read = kernel_read_line(folder, "stat", line, sizeof line) == 0;
    writes->has_counts = is_read && parse_counts(line, writes) && is_settled && is_counting(folder);
    writes->is_counted = writes->has_counts && is_numbered;
}

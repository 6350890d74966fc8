/**
 * Devices on Linux.
 *
 * This is the only place that opens a device. The open is O_RDONLY, save for claim_linux.c, which only
 * `apply` uses; and the only ioctls here ask for sizes.
 */
#include "base/block_set.h"
#include "device/device_facts.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/** Alignment that direct I/O needs on no file system more than this, and buffers get always. */
#define PAGE_BYTES 4096u

struct device {
    struct device_facts facts;
    int descriptor;
    bool has_entry; /**< Did the kernel list it under /sys when it was opened? */
    struct stat status;
};

/** Does the kernel list the block device, as far as anybody can see? Some containers show no /sys at all. */
static bool find_entry(const struct device *device) {
    char path[64];
    snprintf(path, sizeof path, "/sys/dev/block/%u:%u", major(device->status.st_rdev),
             minor(device->status.st_rdev));
    return access(path, F_OK) == 0 || errno != ENOENT;
}

/** Open directly, or through the page cache with a note where the file system refuses. */
static int open_descriptor(struct device *device, const char *path, int mode) {
    int flags = mode | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
    device->descriptor = open(path, flags | O_DIRECT);
    if (device->descriptor >= 0) {
        return 0;
    }
    if (errno != EINVAL && errno != ENOTSUP) {
        return -errno;
    }
    snprintf(device->facts.note, sizeof device->facts.note,
             "direct I/O refused (%s); reading through the page cache", strerror(errno));
    device->descriptor = open(path, flags);
    if (device->descriptor < 0) {
        return -errno;
    }
    /* Read-ahead would fetch blocks that nobody wrote. */
    posix_fadvise(device->descriptor, 0, 0, POSIX_FADV_RANDOM);
    return 0;
}

/** Size and alignment; 0 or -errno. */
static int measure(struct device *device) {
    if (fstat(device->descriptor, &device->status) != 0) {
        return -errno;
    }
    device->facts.is_block = S_ISBLK(device->status.st_mode);
    device->facts.alignment_bytes = PAGE_BYTES;
    if (!device->facts.is_block) {
        if (!S_ISREG(device->status.st_mode)) {
            return -ENOTBLK;
        }
        device->facts.bytes = (uint64_t)device->status.st_size;
        return 0;
    }
    int sector_bytes = 0;
    if (ioctl(device->descriptor, BLKGETSIZE64, &device->facts.bytes) != 0 ||
        ioctl(device->descriptor, BLKSSZGET, &sector_bytes) != 0) {
        return -errno;
    }
    device->facts.alignment_bytes = (uint32_t)sector_bytes;
    device->has_entry = find_entry(device);
    return 0;
}

static const char *begin(const char *path, int mode, struct device **begun) {
    struct device *device = calloc(1, sizeof *device);
    *begun = device;
    if (device == NULL) {
        return "out of memory";
    }
    device->descriptor = -1;
    int failure = open_descriptor(device, path, mode);
    if (failure == 0) {
        failure = measure(device);
    }
    if (failure == -ENOTBLK) {
        return "neither a block device nor a regular file";
    }
    return failure == 0 ? NULL : strerror(-failure);
}

const char *device_begin(const char *path, struct device **begun) {
    return begin(path, O_RDONLY, begun);
}

const char *device_begin_writing(const char *path, struct device **begun) {
    /* Without O_CREAT, O_EXCL has a meaning for block devices only: the kernel's own claim, as mount's. */
    return begin(path, O_RDWR | O_EXCL, begun);
}

void device_close(struct device *device) {
    if (device == NULL) {
        return;
    }
    if (device->descriptor >= 0) {
        close(device->descriptor);
    }
    free(device);
}

void device_key(const struct device *device, char *key, size_t size) {
    const struct stat *status = &device->status;
    if (device->facts.is_block) {
        snprintf(key, size, "block-%u:%u", major(status->st_rdev), minor(status->st_rdev));
    } else {
        snprintf(key, size, "file-%u:%u-%" PRIu64, major(status->st_dev), minor(status->st_dev),
                 (uint64_t)status->st_ino);
    }
}

int device_descriptor(const struct device *device) {
    return device->descriptor;
}

/** A number from the kernel's folder for the device's queue, a partition's being its disk's; 0 without. */
static uint64_t queue_limit(const struct device *device, const char *name) {
    static const char *const folders[] = {"queue", "../queue"};
    uint64_t value = 0;
    for (unsigned i = 0; i < sizeof folders / sizeof folders[0] && value == 0; i++) {
        char path[96];
        snprintf(path, sizeof path, "/sys/dev/block/%u:%u/%s/%s", major(device->status.st_rdev),
                 minor(device->status.st_rdev), folders[i], name);
        FILE *file = fopen(path, "re");
        if (file != NULL) {
            value = fscanf(file, "%" SCNu64, &value) == 1 ? value : 0;
            fclose(file);
        }
    }
    return value;
}

uint64_t device_queue_bytes(const struct device *device) {
    if (!device->facts.is_block) {
        return 0;
    }
    uint64_t request_kib = queue_limit(device, "max_sectors_kb");
    uint64_t block_kib = BLOCK_BYTES / 1024;
    return queue_limit(device, "nr_requests") * (request_kib < block_kib ? request_kib : block_kib) * 1024;
}

int64_t device_read(const struct device *device, void *buffer, size_t length, uint64_t offset) {
    ssize_t got = pread(device->descriptor, buffer, length, (off_t)offset);
    return got < 0 ? -errno : got;
}

int64_t device_write(const struct device *device, const void *buffer, size_t length, uint64_t offset) {
    ssize_t put = pwrite(device->descriptor, buffer, length, (off_t)offset);
    return put < 0 ? -errno : put;
}

int device_flush(const struct device *device) {
    return fdatasync(device->descriptor) == 0 ? 0 : -errno;
}

uint64_t device_bytes_now(const struct device *device) {
    struct stat status;
    uint64_t bytes = 0;
    if (device->facts.is_block) {
        return ioctl(device->descriptor, BLKGETSIZE64, &bytes) == 0 ? bytes : 0;
    }
    return fstat(device->descriptor, &status) == 0 ? (uint64_t)status.st_size : 0;
}

bool device_is_listed(const struct device *device) {
    return !device->has_entry || find_entry(device);
}

void *device_alloc_buffer(size_t bytes) {
    void *buffer = NULL;
    size_t whole = (bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
    return posix_memalign(&buffer, PAGE_BYTES, whole) == 0 ? buffer : NULL;
}

void device_free_buffer(void *buffer) {
    free(buffer);
}

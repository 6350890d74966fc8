/** Where files lie on their disk, by FIEMAP. Dirty pages of the files are not written back for this. */
#include "system/file_extents.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define BATCH 256u
#define SECTOR_BYTES 512u
/** Extents without a place on the device, or whose bytes are never read from it. */
#define PLACELESS (FIEMAP_EXTENT_UNKNOWN | FIEMAP_EXTENT_DELALLOC | FIEMAP_EXTENT_UNWRITTEN)

struct request {
    struct fiemap header;
    struct fiemap_extent extents[BATCH];
};

static int refuse(struct diag *diag, const char *path, const char *reason) {
    return diag_refuse(diag, WARMER_CANNOT_OPEN, "cannot map %s: %s", path, reason);
}

/** Whether this folder in /sys has entries. */
static bool has_entries(const char *path) {
    DIR *folder = opendir(path);
    bool found = false;
    for (struct dirent *entry = folder == NULL ? NULL : readdir(folder); entry != NULL;
         entry = readdir(folder)) {
        found |= entry->d_name[0] != '.';
    }
    if (folder != NULL) {
        closedir(folder);
    }
    return found;
}

/** The sector at which a partition begins; 0 for a whole disk; false if /sys does not say. */
static bool read_start(const char *folder, uint64_t *start) {
    char path[PATH_MAX];
    *start = 0;
    snprintf(path, sizeof path, "%.4000s/partition", folder);
    if (access(path, F_OK) != 0) {
        return true;
    }
    snprintf(path, sizeof path, "%.4000s/start", folder);
    FILE *stream = fopen(path, "r");
    if (stream == NULL) {
        return false;
    }
    unsigned long long sector = 0;
    bool good = fscanf(stream, "%llu", &sector) == 1;
    fclose(stream);
    *start = sector;
    return good;
}

/** The disk of a block device and where on it the device begins. */
static int find_disk(dev_t number, const char *path, struct file_disk *disk, uint64_t *start_bytes,
                     struct diag *diag) {
    char folder[PATH_MAX];
    char parts[PATH_MAX];
    snprintf(folder, sizeof folder, "/sys/dev/block/%u:%u", major(number), minor(number));
    char *real = realpath(folder, NULL);
    if (real == NULL) {
        return refuse(diag, path, "its file system is not on a block device of its own");
    }
    snprintf(folder, sizeof folder, "%.4000s", real);
    free(real);
    snprintf(parts, sizeof parts, "%.4000s/slaves", folder);
    if (has_entries(parts)) {
        return refuse(diag, path, "its device is made of others (LVM, RAID or encryption)");
    }
    uint64_t start = 0;
    if (!read_start(folder, &start)) {
        return refuse(diag, path, "where its partition begins is not known");
    }
    snprintf(parts, sizeof parts, "%.4000s/partition", folder);
    if (access(parts, F_OK) == 0) {
        *strrchr(folder, '/') = '\0';
    }
    *start_bytes = start * SECTOR_BYTES;
    snprintf(disk->name, sizeof disk->name, "%.500s", folder);
    return 0;
}

/** One answer of the file system; sets `*next` to where to ask on, or UINT64_MAX at the end. */
static int take_batch(const struct request *request, uint64_t start_bytes, struct extents *list,
                      uint64_t *next) {
    int failure = 0;
    unsigned count = request->header.fm_mapped_extents;
    *next = UINT64_MAX;
    for (unsigned i = 0; i < count && failure == 0; i++) {
        const struct fiemap_extent *extent = &request->extents[i];
        if ((extent->fe_flags & PLACELESS) == 0) {
            failure = extents_append(list, start_bytes + extent->fe_physical, extent->fe_length);
        }
        bool is_last = (extent->fe_flags & FIEMAP_EXTENT_LAST) != 0;
        *next = is_last ? UINT64_MAX : extent->fe_logical + extent->fe_length;
    }
    return failure;
}

static int map_file(int descriptor, const char *path, uint64_t start_bytes, struct extents *list,
                    struct diag *diag) {
    struct request *request = malloc(sizeof *request);
    int failure = request == NULL ? ENOMEM : 0;
    for (uint64_t next = 0; failure == 0 && next != UINT64_MAX;) {
        memset(request, 0, sizeof *request);
        request->header.fm_start = next;
        request->header.fm_length = FIEMAP_MAX_OFFSET - next;
        request->header.fm_extent_count = BATCH;
        if (ioctl(descriptor, FS_IOC_FIEMAP, request) != 0) {
            failure = errno;
        } else {
            failure = -take_batch(request, start_bytes, list, &next);
        }
    }
    free(request);
    if (failure == EOPNOTSUPP || failure == ENOTTY) {
        return refuse(diag, path, "its file system does not say where files lie");
    }
    return failure == 0 ? 0 : refuse(diag, path, strerror(failure));
}

int file_extents_find(const char *path, struct extents *list, struct file_disk *disk, struct diag *diag) {
    struct stat status;
    uint64_t start_bytes = 0;
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (descriptor < 0) {
        return refuse(diag, path, strerror(errno));
    }
    int failure = 0;
    if (fstat(descriptor, &status) != 0) {
        failure = refuse(diag, path, strerror(errno));
    } else if (!S_ISREG(status.st_mode)) {
        failure = refuse(diag, path,
                         S_ISDIR(status.st_mode) ? "it is a folder: name the files in it"
                                                 : "it is not a regular file");
    } else {
        failure = find_disk(status.st_dev, path, disk, &start_bytes, diag);
    }
    if (failure == 0) {
        failure = map_file(descriptor, path, start_bytes, list, diag);
    }
    close(descriptor);
    return failure;
}

#include "observe/disk.h"

#include "base/number.h"
#include "base/texts.h"
#include "device/kernel_files_linux.h"
#include "device/use_linux.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/** Devices stand on each other at most so deep. */
#define MOST_DEPTH 16u

struct search {
    struct texts names; /**< Of whole disks. */
    struct disk *disk;  /**< The last one. */
    unsigned depth;
};

static bool has(const char *folder, const char *name) {
    char path[KERNEL_PATH_BYTES];
    struct stat status;
    snprintf(path, sizeof path, "%.2000s/%s", folder, name);
    return stat(path, &status) == 0;
}

static void read_sequence(const char *folder, char *sequence, size_t size) {
    kernel_read_line(folder, "diskseq", sequence, size);
    if (sequence[0] == '\0') { /* Before Linux 5.15. */
        kernel_read_line(folder, "size", sequence, size);
    }
}

static void search_below(const char *path, const char *name, void *context);

/** `folder` is one in /sys without links. */
static void search(struct search *search, char *folder) {
    char number[32];
    char slaves[KERNEL_PATH_BYTES];
    if (has(folder, "partition")) {
        *strrchr(folder, '/') = '\0';
    }
    snprintf(slaves, sizeof slaves, "%.2000s/slaves", folder);
    if (search->depth < MOST_DEPTH && kernel_for_each(slaves, search_below, search) > 0) {
        return;
    }
    struct disk *disk = search->disk;
    kernel_read_line(folder, "dev", number, sizeof number);
    uint64_t major = 0;
    uint64_t minor = 0;
    const char *end = number_take_after(number_take(number, UINT32_MAX, &major), ":", UINT32_MAX, &minor);
    if (end == NULL || *end != '\0') {
        return;
    }
    disk->major = (unsigned)major;
    disk->minor = (unsigned)minor;
    snprintf(disk->path, sizeof disk->path, "/dev/%.250s", strrchr(folder, '/') + 1);
    for (char *letter = disk->path; *letter != '\0'; letter++) {
        *letter = *letter == '!' ? '/' : *letter;
    }
    read_sequence(folder, disk->sequence, sizeof disk->sequence);
    texts_add(&search->names, "%s%s", disk->path,
              has(folder, "mq") ? "" : " (for which the kernel makes no requests)");
}

static void search_below(const char *path, const char *name, void *context) {
    struct search *found = context;
    char *folder = realpath(path, NULL);
    (void)name;
    if (folder != NULL) {
        found->depth++;
        search(found, folder);
        found->depth--;
        free(folder);
    }
}

static int judge(const char *path, const struct texts *names, struct diag *diag) {
    char all[500] = "";
    if (names->count == 1 && strchr(names->items[0], ' ') == NULL) {
        return 0;
    }
    for (size_t i = 0; i < names->count; i++) {
        size_t used = strlen(all);
        snprintf(all + used, sizeof all - used, "%s%.100s", used == 0 ? "" : ", ", names->items[i]);
    }
    return diag_refuse(diag, WARMER_CANNOT_OPEN, "cannot observe %s: it stands on %s", path,
                       names->count == 0 ? "no disk that /sys shows" : all);
}

int disk_find(const char *path, struct disk *disk, struct diag *diag) {
    char number[32];
    char link[64];
    struct search found = {.disk = disk};
    if (!use_number(&use_own_tree, path, number, sizeof number)) {
        return diag_refuse(diag, WARMER_CANNOT_OPEN, "cannot observe %s: it is not a block device", path);
    }
    snprintf(link, sizeof link, "/sys/dev/block/%s", number);
    search_below(link, "", &found);
    return judge(path, &found.names, diag);
}

bool disk_is_there(const struct disk *disk) {
    char folder[64];
    char sequence[32];
    snprintf(folder, sizeof folder, "/sys/dev/block/%u:%u", disk->major, disk->minor);
    read_sequence(folder, sequence, sizeof sequence);
    return strcmp(sequence, disk->sequence) == 0;
}

#include "commands/bench_place.h"

#include "system/folder.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define PATH_BYTES 4096u
/** Devices under devices: a partition, a logical volume, encryption. */
#define MOST_LAYERS 8u

/** Whether a path lies at or below a mount point. */
static bool is_below(const char *path, const char *point) {
    size_t length = strcmp(point, "/") == 0 ? 0 : strlen(point);
    return strncmp(path, point, length) == 0 && (path[length] == '/' || path[length] == '\0');
}

/** A line of mountinfo (proc(5)); of those that fit, the last of the longest counts. */
static void take_mount(const char *line, const char *path, size_t *longest, struct bench_place *place) {
    char point[PATH_BYTES];
    const char *tail = strstr(line, " - ");
    if (tail == NULL || sscanf(line, "%*s %*s %*s %*s %4095s", point) != 1 || !is_below(path, point) ||
        strlen(point) < *longest) {
        return;
    }
    *longest = strlen(point);
    if (sscanf(tail, " - %63s %255s", place->file_system, place->source) != 2) {
        place->source[0] = '\0';
    }
}

/** The first entry of a folder; false if it is empty. */
static bool first_entry(const char *path, char *name, size_t size) {
    DIR *folder = opendir(path);
    bool found = false;
    for (struct dirent *entry = folder == NULL ? NULL : readdir(folder); entry != NULL && !found;
         entry = readdir(folder)) {
        found = entry->d_name[0] != '.';
        snprintf(name, size, "%.255s", entry->d_name);
    }
    if (folder != NULL) {
        closedir(folder);
    }
    return found;
}

static void read_serial(const char *folder, char *serial, size_t size) {
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%.2000s/device/serial", folder);
    FILE *stream = fopen(path, "r");
    if (stream == NULL) {
        return;
    }
    if (fgets(serial, (int)size, stream) == NULL || strncmp(serial, "vol", 3) != 0) {
        serial[0] = '\0';
    }
    serial[strcspn(serial, " \n")] = '\0';
    fclose(stream);
}

/** From a block device down to its disk: a partition's parent, or what the device is made of. */
static void find_serial(struct bench_place *place) {
    char folder[PATH_BYTES];
    char next[PATH_BYTES];
    char name[256];
    struct stat status;
    if (stat(place->source, &status) != 0 || !S_ISBLK(status.st_mode)) {
        return;
    }
    snprintf(folder, sizeof folder, "/sys/dev/block/%u:%u", major(status.st_rdev), minor(status.st_rdev));
    for (unsigned layer = 0; layer < MOST_LAYERS && place->serial[0] == '\0'; layer++) {
        char *real = realpath(folder, NULL);
        snprintf(folder, sizeof folder, "%s", real == NULL ? "" : real);
        free(real);
        read_serial(folder, place->serial, sizeof place->serial);
        snprintf(next, sizeof next, "%.2000s/slaves", folder);
        if (first_entry(next, name, sizeof name)) {
            snprintf(folder, sizeof folder, "/sys/class/block/%.255s", name);
        } else {
            snprintf(next, sizeof next, "%.2000s/..", folder);
            memcpy(folder, next, sizeof folder);
        }
    }
}

void bench_place_find(const char *folder, struct bench_place *place) {
    char line[2 * PATH_BYTES];
    size_t longest = 0;
    char *real = realpath(folder, NULL);
    FILE *stream = fopen("/proc/self/mountinfo", "r");
    *place = (struct bench_place){{0}, {0}, {0}};
    while (stream != NULL && real != NULL && fgets(line, sizeof line, stream) != NULL) {
        take_mount(line, real, &longest, place);
    }
    if (stream != NULL) {
        fclose(stream);
    }
    free(real);
    find_serial(place);
}

uint64_t bench_place_free_mib(const char *folder) {
    struct statvfs found;
    return statvfs(folder, &found) == 0 ? (uint64_t)found.f_bavail * found.f_frsize >> 20 : 0;
}

static void machine_name(char *name, size_t size) {
    FILE *stream = fopen("/etc/machine-id", "r");
    bool is_known = stream != NULL && fgets(name, (int)size, stream) != NULL;
    if (stream != NULL) {
        fclose(stream);
    }
    if (!is_known && gethostname(name, size) != 0) {
        snprintf(name, size, "machine");
    }
    name[size - 1] = '\0';
    name[strcspn(name, "\n/")] = '\0';
}

static void delete_left(const char *folder, const char *prefix) {
    DIR *stream = opendir(folder);
    for (struct dirent *entry = stream == NULL ? NULL : readdir(stream); entry != NULL;
         entry = readdir(stream)) {
        char path[PATH_BYTES];
        if (strncmp(entry->d_name, prefix, strlen(prefix)) == 0) {
            snprintf(path, sizeof path, "%.2000s/%s", folder, entry->d_name);
            folder_delete(path);
        }
    }
    if (stream != NULL) {
        closedir(stream);
    }
}

int bench_place_make_scratch(const char *folder, char *path, uint32_t size) {
    char machine[128];
    char prefix[160];
    machine_name(machine, sizeof machine);
    snprintf(prefix, sizeof prefix, ".rewarm-benchmark-%s.", machine);
    delete_left(folder, prefix);
    snprintf(path, size, "%s/%sXXXXXX", folder, prefix);
    return mkdtemp(path) != NULL ? 0 : -errno;
}

#include "commands/bench_place.h"

#include "base/number.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
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

/** The number of the mount that an open folder is in (proc(5), fdinfo); false: it is not known. */
static bool find_mount(int folder, uint64_t *mount) {
    char line[128];
    bool is_known = false;
    snprintf(line, sizeof line, "/proc/self/fdinfo/%d", folder);
    FILE *stream = fopen(line, "re");
    while (stream != NULL && !is_known && fgets(line, sizeof line, stream) != NULL) {
        is_known = number_take_after(line, "mnt_id:\t", UINT64_MAX, mount) != NULL;
    }
    if (stream != NULL) {
        fclose(stream);
    }
    return is_known;
}

/** A line of mountinfo (proc(5)). Returns whether it is the mount's. */
static bool take_mount(const char *line, uint64_t mount, struct bench_place *place) {
    uint64_t number = 0;
    const char *behind = number_take(line, UINT64_MAX, &number);
    const char *tail = strstr(line, " - ");
    if (behind == NULL || *behind != ' ' || number != mount || tail == NULL) {
        return false;
    }
    if (sscanf(tail, " - %63s %255s", place->file_system, place->source) != 2) {
        place->source[0] = '\0';
    }
    return true;
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

void bench_place_find(int folder, struct bench_place *place) {
    char *line = NULL;
    size_t size = 0;
    uint64_t mount = 0;
    FILE *stream = find_mount(folder, &mount) ? fopen("/proc/self/mountinfo", "re") : NULL;
    while (stream != NULL && getline(&line, &size, stream) > 0 && !take_mount(line, mount, place)) {
    }
    if (stream != NULL) {
        fclose(stream);
    }
    free(line);
    find_serial(place);
}

uint64_t bench_place_free_mib(int folder) {
    struct statvfs found;
    return fstatvfs(folder, &found) == 0 ? (uint64_t)found.f_bavail * found.f_frsize >> 20 : 0;
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

int bench_place_make_scratch(int folder, struct folder **made, folder_notice *notice, void *context) {
    char machine[128];
    char prefix[160];
    machine_name(machine, sizeof machine);
    snprintf(prefix, sizeof prefix, ".rewarm-benchmark-%s.", machine);
    /* One benchmark runs on a machine, so that none of its folders is another's, also where nothing locks. */
    folder_delete_own(folder, prefix, false, notice, context);
    return folder_make_own(folder, prefix, made);
}

/** The identity of a device from /sys and the names that udev gives it. The device itself is not asked. */
#include "device/identity.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#define BY_ID "/dev/disk/by-id"

/** The text of a file in /sys, without spaces at its end; empty if there is none. */
static void read_text(const char *folder, const char *file, char *text, size_t size) {
    char path[PATH_MAX];
    text[0] = '\0';
    snprintf(path, sizeof path, "%s/%s", folder, file);
    FILE *stream = fopen(path, "r");
    if (stream == NULL) {
        return;
    }
    if (fgets(text, (int)size, stream) == NULL) {
        text[0] = '\0';
    }
    fclose(stream);
    for (size_t length = strlen(text); length > 0 && (text[length - 1] == '\n' || text[length - 1] == ' ');) {
        text[--length] = '\0';
    }
}

static uint64_t read_number(const char *folder, const char *file) {
    char text[32];
    read_text(folder, file, text, sizeof text);
    return strtoull(text, NULL, 10);
}

/** The disk's folder in /sys: a partition's parent. */
static void disk_folder(dev_t number, char *folder, size_t size) {
    char path[PATH_MAX];
    char whole[PATH_MAX];
    struct stat status;
    snprintf(path, sizeof path, "/sys/dev/block/%u:%u", major(number), minor(number));
    snprintf(whole, sizeof whole, "%.4000s/partition", path);
    const char *disk = stat(whole, &status) == 0 ? "/.." : "";
    snprintf(whole, sizeof whole, "%.4000s%s", path, disk);
    char *real = realpath(whole, NULL);
    snprintf(folder, size, "%s", real == NULL ? whole : real);
    free(real);
}

static void read_limits(const char *folder, struct identity *identity) {
    const char *name = strrchr(folder, '/');
    snprintf(identity->name, sizeof identity->name, "%.63s", name == NULL ? folder : name + 1);
    read_text(folder, "device/model", identity->model, sizeof identity->model);
    read_text(folder, "device/serial", identity->serial, sizeof identity->serial);
    identity->max_request_bytes = read_number(folder, "queue/max_sectors_kb") * 1024;
    identity->read_ahead_bytes = read_number(folder, "queue/read_ahead_kb") * 1024;
    identity->queue_depth = read_number(folder, "queue/nr_requests");
    identity->logical_block_bytes = read_number(folder, "queue/logical_block_size");
    identity->physical_block_bytes = read_number(folder, "queue/physical_block_size");
    identity->is_read_only = read_number(folder, "ro") != 0;
}

/** A by-id link that leads to this device and names a volume. */
static void search_links(dev_t number, struct identity *identity) {
    DIR *folder = opendir(BY_ID);
    if (folder == NULL) {
        return;
    }
    for (struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        char path[PATH_MAX];
        struct stat status;
        snprintf(path, sizeof path, BY_ID "/%s", entry->d_name);
        if (stat(path, &status) == 0 && S_ISBLK(status.st_mode) && status.st_rdev == number &&
            identity_volume_id(entry->d_name, identity->volume_id, sizeof identity->volume_id)) {
            break;
        }
    }
    closedir(folder);
}

static void find_block(dev_t number, struct identity *identity) {
    char folder[PATH_MAX];
    disk_folder(number, folder, sizeof folder);
    read_limits(folder, identity);
    if (!identity_volume_id(identity->serial, identity->volume_id, sizeof identity->volume_id)) {
        search_links(number, identity);
    }
}

void identity_find(const char *path, const struct device *device, struct identity *identity) {
    struct stat status;
    *identity = (struct identity){0};
    char *real = realpath(path, NULL);
    snprintf(identity->real_path, sizeof identity->real_path, "%s", real == NULL ? path : real);
    free(real);
    if (device_is_block(device) && stat(path, &status) == 0) {
        find_block(status.st_rdev, identity);
    }
    if (identity->volume_id[0] == '\0') {
        identity_volume_id(path, identity->volume_id, sizeof identity->volume_id);
    }
}

/**
 * Which disk an EBS volume is. NVMe disks say it in their serial number (Amazon EBS user guide, "Map Amazon
 * EBS volumes to NVMe device names"), which the kernel shows in /sys without udev. A disk without a serial
 * number is found by a name that udev has given it; a name never counts against the serial number of its
 * disk.
 */
#include "device/find.h"

#include "device/identity.h"
#include "device/kernel_files_linux.h"
#include "device/use_linux.h"

#include <stdio.h>
#include <string.h>

#define BY_ID "/dev/disk/by-id"

struct search {
    const struct use_tree *tree;
    const char *volume_id;
    char *path;
    size_t size;
    bool is_found;
    bool is_unclear; /**< Names of it lead to two disks, or to one that may be another volume. */
    char number[32]; /**< Of the disk that was found by a name. */
};

/**
 * The volume's id from the serial number of a disk by its folder in /sys; empty if there is none. Returns 0,
 * or -errno where that is not known.
 */
static int read_serial(const char *folder, char *volume_id, uint32_t size) {
    char serial[64];
    int failure = kernel_read_line(folder, "device/serial", serial, sizeof serial);
    if (!identity_volume_id(serial, volume_id, size)) {
        volume_id[0] = '\0';
    }
    return kernel_is_absence(failure) ? 0 : failure;
}

/** A disk by its folder in /sys; one with several ways to it has a hidden disk for each. */
static void look_at_disk(const char *folder, const char *name, void *context) {
    struct search *search = context;
    char path[KERNEL_PATH_BYTES];
    char number[32];
    char found[32];
    (void)read_serial(folder, found, sizeof found); /* What is not known is not taken. */
    if (search->is_found || strcmp(found, search->volume_id) != 0) {
        return;
    }
    snprintf(path, sizeof path, "%.2000s/dev/%.250s", search->tree->root, name);
    kernel_read_line(folder, "dev", number, sizeof number);
    char there[32];
    if (use_number(search->tree, path, there, sizeof there) && strcmp(there, number) == 0) {
        snprintf(search->path, search->size, "%s", path);
        search->is_found = true;
    }
}

/** A name that udev has given a disk. */
static void look_at_link(const char *path, const char *name, void *context) {
    struct search *search = context;
    char folder[KERNEL_PATH_BYTES];
    char number[32];
    char found[32];
    if ((search->is_found && search->number[0] == '\0') || strstr(name, "-part") != NULL ||
        !identity_volume_id(name, found, sizeof found) || strcmp(found, search->volume_id) != 0 ||
        !use_number(search->tree, path, number, sizeof number)) {
        return;
    }
    snprintf(folder, sizeof folder, "%.2000s/sys/dev/block/%s", search->tree->root, number);
    int failure = read_serial(folder, found, sizeof found);
    search->is_unclear |= failure != 0;
    if (found[0] != '\0' && strcmp(found, search->volume_id) != 0) {
        return;
    }
    bool is_first = !search->is_found || strcmp(path, search->path) < 0;
    search->is_unclear |= search->is_found && strcmp(search->number, number) != 0;
    if (is_first) { /* Of several names always the same one, in whatever order they are listed. */
        snprintf(search->path, search->size, "%s", path);
        snprintf(search->number, sizeof search->number, "%s", number);
    }
    search->is_found = true;
}

bool find_device_below(const struct use_tree *tree, const char *volume_id, char *path, size_t size) {
    struct search search = {.tree = tree, .volume_id = volume_id, .path = path, .size = size};
    char folder[KERNEL_PATH_BYTES];
    snprintf(folder, sizeof folder, "%.2000s/sys/block", tree->root);
    kernel_for_each(folder, look_at_disk, &search);
    snprintf(folder, sizeof folder, "%.2000s" BY_ID, tree->root);
    kernel_for_each(folder, look_at_link, &search);
    search.is_found &= !search.is_unclear;
    if (!search.is_found) {
        const char *digits = strncmp(volume_id, "vol-", 4) == 0 ? volume_id + 4 : volume_id;
        snprintf(path, size, "disk with the serial number vol%s", digits);
    }
    return search.is_found;
}

bool find_device(const char *volume_id, char *path, size_t size) {
    return find_device_below(&use_own_tree, volume_id, path, size);
}

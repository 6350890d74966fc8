/**
 * Whether a device of Linux may be written to, in the order of the exit statuses. All of it is looked at
 * before the device is open, after it, and before the first write. This process itself does not count.
 */
#include "device/claim_linux.h"

#include "device/claim_look.h"
#include "device/identity.h"
#include "device/kernel_files_linux.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define BY_ID "/dev/disk/by-id"

/** Files of a disk's folder in /sys that no EBS volume's has: it is made of other disks. */
static const char *const made_of_others[] = {"dm", "md", "bcache", "slaves/."};

/** A file or folder in /sys. */
struct entry {
    char path[PATH_MAX];
};

static struct entry entry_of(const struct use_tree *tree, const char *number, const char *name) {
    struct entry entry;
    snprintf(entry.path, sizeof entry.path, "%.2000s/sys/dev/block/%s/%s", tree->root, number, name);
    return entry;
}

/** Whether a folder has entries. */
static bool has_entries(const char *path) {
    DIR *folder = opendir(path);
    bool found = false;
    for (struct dirent *entry = folder == NULL ? NULL : readdir(folder); entry != NULL && !found;
         entry = readdir(folder)) {
        found = entry->d_name[0] != '.';
    }
    if (folder != NULL) {
        closedir(folder);
    }
    return found;
}

static bool is_made_of_others(const struct use_tree *tree, const char *number) {
    bool found = false;
    for (size_t i = 0; i < sizeof made_of_others / sizeof made_of_others[0]; i++) {
        struct entry entry = entry_of(tree, number, made_of_others[i]);
        bool is_folder_of_disks = strchr(made_of_others[i], '/') != NULL;
        found |= is_folder_of_disks ? has_entries(entry.path) : access(entry.path, F_OK) == 0;
    }
    return found;
}

static int look_at_disk(const struct use_tree *tree, const char *path, char *number, size_t size,
                        struct diag *diag) {
    char line[16];
    if (!use_number(tree, path, number, size)) {
        return diag_refuse(diag, WARMER_NOT_WHOLE, "%s is not a block device", path);
    }
    if (access(entry_of(tree, number, ".").path, F_OK) != 0) {
        return diag_refuse(diag, WARMER_NOT_WHOLE, "%s is not listed in /sys", path);
    }
    if (access(entry_of(tree, number, "partition").path, F_OK) == 0) {
        return diag_refuse(diag, WARMER_NOT_WHOLE, "%s is a partition, and only a whole disk is written to",
                           path);
    }
    if (is_made_of_others(tree, number)) {
        return diag_refuse(diag, WARMER_NOT_WHOLE, "%s is made of other disks", path);
    }
    kernel_read_line(entry_of(tree, number, ".").path, "ro", line, sizeof line);
    if (strcmp(line, "0") != 0) {
        return diag_refuse(diag, WARMER_READ_ONLY, "%s is read-only", path);
    }
    return 0;
}

/**
 * The volume's id from the disk's own serial number, or else from the links that udev made for it. The path
 * that was given says nothing. Two links that name different volumes are none.
 */
static void find_volume(const struct use_tree *tree, const char *number, char *volume_id, uint32_t size) {
    char path[PATH_MAX];
    char other[32];
    char found[32];
    kernel_read_line(entry_of(tree, number, ".").path, "device/serial", path, sizeof path);
    if (identity_volume_id(path, volume_id, size)) {
        return;
    }
    volume_id[0] = '\0';
    snprintf(path, sizeof path, "%.2000s" BY_ID, tree->root);
    DIR *folder = opendir(path);
    for (struct dirent *entry = folder == NULL ? NULL : readdir(folder); entry != NULL;
         entry = readdir(folder)) {
        snprintf(path, sizeof path, "%.2000s" BY_ID "/%s", tree->root, entry->d_name);
        if (!identity_volume_id(entry->d_name, found, sizeof found) ||
            !use_number(tree, path, other, sizeof other) || strcmp(other, number) != 0) {
            continue;
        }
        if (volume_id[0] != '\0' && strcmp(volume_id, found) != 0) {
            volume_id[0] = '\0';
            break;
        }
        snprintf(volume_id, size, "%s", found);
    }
    if (folder != NULL) {
        closedir(folder);
    }
}

static int look_at_volume(const struct use_tree *tree, const struct claim *claim, const char *number,
                          struct diag *diag) {
    char found[32];
    find_volume(tree, number, found, sizeof found);
    return claim_compare(claim, found, diag);
}

static int look_at_use(const struct use_tree *tree, const char *path, struct diag *diag) {
    static struct device_use use;
    use = (struct device_use){0};
    use_find_below(tree, path, &use);
    if (use.mounts.count > 0) {
        return diag_refuse(diag, WARMER_MOUNTED, "%s is mounted at %s", path, use.mounts.items[0]);
    }
    for (size_t i = 0; i < use.others.count; i++) {
        const char *other = use.others.items[i];
        bool is_swap = strncmp(other, "swap ", 5) == 0;
        return diag_refuse(diag, is_swap ? WARMER_SWAP : WARMER_HELD, "%s is in use: %s", path, other);
    }
    return 0;
}

int claim_look_below(const struct use_tree *tree, const struct claim *claim, struct diag *diag) {
    char number[32];
    int status = look_at_disk(tree, claim->path, number, sizeof number, diag);
    if (status == 0) {
        status = look_at_volume(tree, claim, number, diag);
    }
    return status == 0 ? look_at_use(tree, claim->path, diag) : status;
}

int claim_look_at_disk(const struct claim *claim, struct diag *diag) {
    return claim_look_below(&use_own_tree, claim, diag);
}

int claim_look_at_opened(const struct claim *claim, const struct device *device, struct diag *diag) {
    char key[64];
    char number[32];
    device_key(device, key, sizeof key);
    if (!use_number(&use_own_tree, claim->path, number, sizeof number) ||
        strcmp(key + strlen("block-"), number) != 0) {
        return diag_refuse(diag, WARMER_WRONG_VOLUME, "%s leads to another device than when it was opened",
                           claim->path);
    }
    int status = look_at_disk(&use_own_tree, claim->path, number, sizeof number, diag);
    if (status == 0) {
        status = look_at_volume(&use_own_tree, claim, number, diag);
    }
    return status == 0 ? look_at_use(&use_own_tree, claim->path, diag) : status;
}

int claim_watch_disk(const struct claim *claim, const struct device *device, struct diag *diag) {
    char key[64];
    char who[sizeof diag->text];
    (void)claim;
    device_key(device, key, sizeof key);
    return use_watch(&use_own_tree, key + strlen("block-"), who, sizeof who)
               ? diag_refuse(diag, WARMER_DISTURBED, "%s", who)
               : 0;
}

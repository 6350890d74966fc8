/**
 * Whether a device of Linux may be written to, in the order of the exit statuses. All of it is looked at
 * before the device is open, after it, and before the first write. This process itself does not count. A look
 * that fails is a refusal: that the device is in use cannot be excluded then.
 */
#include "device/claim_linux.h"

#include "device/claim_look.h"
#include "device/identity.h"
#include "device/kernel_files_linux.h"

#include <errno.h>
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

/** Nobody knows: what cannot be seen is taken as in use. */
static int refuse_unknown(struct diag *diag, const char *path, const char *what, int failure) {
    return diag_refuse(diag, WARMER_HELD,
                       "%s is taken as in use, because looking at %s failed: %s; nothing is known then", path,
                       what, strerror(-failure));
}

static void take_entry(const char *path, const char *name, void *context) {
    (void)path, (void)name, (void)context;
}

/** Whether a file is there (1) or not (0), or a folder has entries; else -errno. */
static int is_there(const char *path, bool is_folder) {
    int found = is_folder ? kernel_for_each(path, take_entry, NULL) : access(path, F_OK) == 0 ? 1 : -errno;
    return kernel_is_absence(found) ? 0 : found;
}

/** The same for a disk that is made of others. */
static int is_made_of_others(const struct use_tree *tree, const char *number) {
    int found = 0;
    for (size_t i = 0; i < sizeof made_of_others / sizeof made_of_others[0] && found == 0; i++) {
        struct entry entry = entry_of(tree, number, made_of_others[i]);
        found = is_there(entry.path, strchr(made_of_others[i], '/') != NULL);
    }
    return found;
}

static int look_at_disk(const struct use_tree *tree, const char *path, char *number, size_t size,
                        struct diag *diag) {
    char line[16];
    if (!use_number(tree, path, number, size)) {
        return diag_refuse(diag, WARMER_NOT_WHOLE, "%s is not a block device", path);
    }
    struct entry folder = entry_of(tree, number, ".");
    int is_listed = is_there(folder.path, false);
    int is_part = is_there(entry_of(tree, number, "partition").path, false);
    int is_made = is_made_of_others(tree, number);
    int failure = kernel_read_line(folder.path, "ro", line, sizeof line);
    if (is_listed == 0) {
        return diag_refuse(diag, WARMER_NOT_WHOLE, "%s is not listed in /sys", path);
    }
    if (is_part > 0) {
        return diag_refuse(diag, WARMER_NOT_WHOLE, "%s is a partition, and only a whole disk is written to",
                           path);
    }
    if (is_made > 0) {
        return diag_refuse(diag, WARMER_NOT_WHOLE, "%s is made of other disks", path);
    }
    failure = is_listed < 0 ? is_listed : is_part < 0 ? is_part : is_made < 0 ? is_made : failure;
    if (failure < 0) {
        return refuse_unknown(diag, path, folder.path, failure);
    }
    return strcmp(line, "0") == 0 ? 0 : diag_refuse(diag, WARMER_READ_ONLY, "%s is read-only", path);
}

/** Links that udev has made, of which those to this disk name its volume. */
struct naming {
    const struct use_tree *tree;
    const char *number;
    char volume_id[32];
    bool is_contradicted;
    int failure;
};

static void take_link(const char *path, const char *name, void *context) {
    struct naming *naming = context;
    char other[32];
    char found[32];
    if (!identity_volume_id(name, found, sizeof found)) {
        return;
    }
    if (!use_number(naming->tree, path, other, sizeof other)) {
        naming->failure = errno == 0 || kernel_is_absence(-errno) ? naming->failure : -errno;
    } else if (strcmp(other, naming->number) == 0) {
        naming->is_contradicted |= naming->volume_id[0] != '\0' && strcmp(naming->volume_id, found) != 0;
        snprintf(naming->volume_id, sizeof naming->volume_id, "%s", found);
    }
}

/**
 * The volume's id from the disk's own serial number, or else from the links that udev made for it. The path
 * that was given says nothing. Two links that name different volumes are none. Returns 0 or -errno.
 */
static int find_volume(const struct use_tree *tree, const char *number, char *volume_id, uint32_t size) {
    struct naming naming = {.tree = tree, .number = number};
    char path[PATH_MAX];
    int failure = kernel_read_line(entry_of(tree, number, ".").path, "device/serial", path, sizeof path);
    volume_id[0] = '\0';
    if (identity_volume_id(path, volume_id, size)) {
        return 0;
    }
    snprintf(path, sizeof path, "%.2000s" BY_ID, tree->root);
    int count = kernel_for_each(path, take_link, &naming);
    snprintf(volume_id, size, "%s", naming.is_contradicted ? "" : naming.volume_id);
    failure = kernel_is_absence(failure) ? 0 : failure;
    failure = count < 0 && !kernel_is_absence(count) ? count : failure;
    return failure < 0 ? failure : naming.failure;
}

static int look_at_volume(const struct use_tree *tree, const struct claim *claim, const char *number,
                          struct diag *diag) {
    char found[32];
    int failure = find_volume(tree, number, found, sizeof found);
    return failure < 0 ? refuse_unknown(diag, claim->path, "its serial number and names", failure)
                       : claim_compare(claim, found, diag);
}

static int look_at_use(const struct use_tree *tree, const char *path, struct diag *diag) {
    static struct device_use use;
    use = (struct device_use){0};
    use_find_visible(tree, path, &use);
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

void claim_name_holder(const struct claim *claim, char *who, size_t size) {
    use_name_holder(&use_own_tree, claim->path, who, size);
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

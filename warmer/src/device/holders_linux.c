/**
 * What the kernel says of a device that no list names a user of. A file system stays alive after it left
 * every list of mounts: unmounted lazily with a file open, below an overlay, as a detached mount
 * (open_tree(2)), in a namespace that nothing but a bind keeps, or frozen (FIFREEZE). The kernel holds its
 * device all the while.
 */
#include "device/holders_linux.h"

#include "device/kernel_files_linux.h"
#include "device/mounts_linux.h"
#include "device/openers_linux.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

int holders_try(const struct family *family, const char *path) {
    return family_is_block(family) ? family->tree->take_alone(path, &family->members[0].node) : 0;
}

/** The partition that is held, or else the disk. */
static const struct member *held_member(const struct family *family) {
    for (size_t i = 1; i < family->count; i++) {
        const struct member *member = &family->members[i];
        if (member->is_own && family->tree->take_alone(member->name, &member->node) == -EBUSY) {
            return member;
        }
    }
    return &family->members[0];
}

/** A device that is held, and file systems on it that are alive. */
struct search {
    struct family *family;
    const struct member *held;
    struct texts *found;
    const char *kind; /**< Of the file systems that are looked at. */
};

static void take_file_system(const char *path, const char *name, void *context) {
    const struct search *search = context;
    const char *device = strrchr(search->held->name, '/') + 1;
    (void)path;
    if (strcmp(name, device) == 0) {
        texts_add(search->found, "the file system (%s) on %s, which is alive and mounted nowhere in sight",
                  search->kind, search->held->name);
    }
}

/** Folders in /sys/fs, of which those of ext4, XFS and F2FS list their devices. */
static void take_kind(const char *path, const char *name, void *context) {
    struct search *search = context;
    search->kind = name;
    (void)kernel_for_each(path, take_file_system, search);
}

static void find_processes(struct family *family, const struct member *held, struct texts *found) {
    struct openers openers;
    openers_find(family, OPENERS_FILES, &openers);
    for (size_t i = 0; i < openers.count; i++) {
        texts_add(found, "process %lu (%s), which has a file or folder on %s open", openers.items[i].id,
                  openers.items[i].program, held->name);
    }
}

void holders_find(struct family *family, struct texts *found) {
    const struct member *held = held_member(family);
    struct search search = {.family = family, .held = held, .found = found};
    char folder[KERNEL_PATH_BYTES];
    size_t before = found->count;
    find_processes(family, held, found);
    mounts_find_kept(family, found);
    bool has_name = found->count > before;
    snprintf(folder, sizeof folder, "%.250s/sys/fs", family->tree->root);
    (void)kernel_for_each(folder, take_kind, &search);
    if (!has_name && found->count > before) {
        mounts_find_overlays(family, found);
    } else if (!has_name) {
        texts_add(found, "the kernel, which holds %s and shows no holder", held->name);
    }
}

/**
 * A disk, its partitions, and what is made of them, by device number: what is called otherwise elsewhere, as
 * in a container, is the same device.
 *
 * The kernel lists what takes a device for itself alone (device-mapper, RAID, bcache) below `holders`. Loop
 * devices, zram, and what exports a device to other machines are asked one by one, because they need not.
 * What cannot be seen: an export whose program or kernel module has no list (rnbd), passthrough commands to a
 * character device (/dev/ng1n1, /dev/sg1), and another machine, as with Multi-Attach or a hypervisor's guest.
 * Whatever else holds the device for itself alone is met when it is opened with O_EXCL.
 */
#include "device/family_linux.h"

#include "device/kernel_files_linux.h"

#include <ctype.h>
#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct member *family_member(const struct family *family, const struct use_node *node) {
    for (size_t i = 0; i < family->count; i++) {
        if (use_same_node(&family->members[i].node, node)) {
            return &family->members[i];
        }
    }
    return NULL;
}

const struct member *family_numbered(const struct family *family, const char *number) {
    struct use_node node = {.kind = USE_BLOCK};
    return sscanf(number, "%u:%u", &node.major, &node.minor) == 2 ? family_member(family, &node) : NULL;
}

void family_miss(struct family *family, const char *what, int failure) {
    texts_add(&family->unknown, "something that is not known, because looking at %.250s failed: %s", what,
              strerror(-failure));
}

void family_doubt(struct family *family, const char *what, int failure) {
    if (failure < 0 && !kernel_is_absence(failure)) {
        family_miss(family, what, failure);
    }
}

bool family_look(struct family *family, const char *path, struct use_node *node) {
    bool is_there = use_look(family->tree, path, node);
    if (!is_there) {
        family_doubt(family, path, -errno);
    }
    return is_there;
}

bool family_is_block(const struct family *family) {
    return family->count > 0 && family->members[0].node.kind == USE_BLOCK;
}

const struct member *family_at(struct family *family, const char *root, const char *path) {
    char whole[KERNEL_PATH_BYTES];
    struct use_node node;
    snprintf(whole, sizeof whole, "%.2000s%.2000s", root, path);
    if (path[0] != '/') {
        return NULL;
    }
    if (family_look(family, whole, &node)) {
        return family_member(family, &node);
    }
    for (size_t i = 0; i < family->count; i++) {
        if (strcmp(family->members[i].name, path) == 0) {
            return &family->members[i];
        }
    }
    return NULL;
}

/** Add one; NULL: it is there already, or there is no room. */
static struct member *add(struct family *family, const struct use_node *node, bool is_own) {
    if (family_member(family, node) != NULL) {
        return NULL;
    }
    if (family->count == FAMILY_LIMIT) {
        texts_add(&family->made, "more than %u devices", FAMILY_LIMIT);
        return NULL;
    }
    struct member *member = &family->members[family->count++];
    *member = (struct member){.node = *node, .is_own = is_own};
    return member;
}

/** The name below /dev; the kernel writes a slash in it as an exclamation mark. */
static void name_member(const char *folder, struct member *member) {
    char mapped[FAMILY_NAME_BYTES - 16];
    kernel_read_line(folder, "dm/name", mapped, sizeof mapped);
    if (mapped[0] != '\0') {
        snprintf(member->name, sizeof member->name, "/dev/mapper/%s", mapped);
        return;
    }
    char *real = realpath(folder, NULL);
    snprintf(member->name, sizeof member->name, "/dev/%.250s", real == NULL ? "?" : strrchr(real, '/') + 1);
    free(real);
    for (char *letter = member->name; *letter != '\0'; letter++) {
        *letter = *letter == '!' ? '/' : *letter;
    }
}

/** A visit to a folder in /sys, and whether what is there belongs to the disk itself. */
struct visit {
    struct family *family;
    bool is_own;
};

static const struct member *add_folder(const char *folder, struct family *family, bool is_own);

/** What device-mapper calls its kind, such as LVM or CRYPT, or else the driver's name, in small letters. */
static void find_kind(const char *folder, char *kind, size_t size) {
    kernel_read_line(folder, "dm/uuid", kind, size);
    kind[strcspn(kind, "-")] = '\0';
    if (kind[0] == '\0') {
        snprintf(kind, size, "%s", strrchr(folder, '/') + 1);
        kind[strcspn(kind, "0123456789")] = '\0';
    }
    for (char *letter = kind; *letter != '\0'; letter++) {
        *letter = (char)tolower((unsigned char)*letter);
    }
    if (strcmp(kind, "md") == 0) {
        snprintf(kind, size, "raid");
    }
}

static void add_made(const char *folder, struct family *family) {
    char kind[64];
    const struct member *member = add_folder(folder, family, false);
    if (member != NULL) {
        find_kind(folder, kind, sizeof kind);
        texts_add(&family->made, "%s %s", kind, member->name);
    }
}

static void add_holder(const char *path, const char *name, void *context) {
    const struct visit *visit = context;
    (void)name;
    add_made(path, visit->family);
}

static void add_part(const char *path, const char *name, void *context) {
    const struct visit *visit = context;
    char number[16];
    (void)name;
    family_doubt(visit->family, path, kernel_read_line(path, "partition", number, sizeof number));
    if (number[0] != '\0') {
        add_folder(path, visit->family, visit->is_own);
    }
}

/** A block device by its folder in /sys, and what the kernel lists as made of it; NULL if it is no news. */
static const struct member *add_folder(const char *folder, struct family *family, bool is_own) {
    char holders[KERNEL_PATH_BYTES];
    char number[32];
    struct use_node node = {.kind = USE_BLOCK};
    struct visit visit = {family, is_own};
    family_doubt(family, folder, kernel_read_line(folder, "dev", number, sizeof number));
    struct member *member =
        sscanf(number, "%u:%u", &node.major, &node.minor) == 2 ? add(family, &node, is_own) : NULL;
    if (member == NULL) {
        return NULL;
    }
    name_member(folder, member);
    snprintf(holders, sizeof holders, "%.2000s/holders", folder);
    family_doubt(family, holders, kernel_for_each(holders, add_holder, &visit));
    family_doubt(family, folder, kernel_for_each(folder, add_part, &visit));
    return member;
}

/** Whether a member, or a file system on one, is what a loop device stands on. */
static bool is_backing(const struct family *family, const struct use_node *node) {
    struct use_node below = {.kind = USE_BLOCK, .major = node->major, .minor = node->minor};
    return family_member(family, node) != NULL ||
           (node->kind == USE_FILE && family_member(family, &below) != NULL);
}

/**
 * Whether a loop device stands on a member. One that cannot be asked is known by its path, and where that
 * leads nowhere, nobody knows.
 */
static bool is_ours(struct family *family, const char *device, const char *backing) {
    struct use_node node;
    char path[KERNEL_PATH_BYTES];
    if (family->tree->find_backing(device, &node)) {
        return is_backing(family, &node);
    }
    int failure = -errno;
    if (family_at(family, family->tree->root, backing) != NULL) {
        return true;
    }
    snprintf(path, sizeof path, "%.2000s%.2000s", family->tree->root, backing);
    if (failure != -ENXIO && !use_look(family->tree, path, &node)) {
        family_miss(family, device, failure);
    }
    return false;
}

static void add_loop(const char *path, const char *name, void *context) {
    struct family *family = context;
    char backing[TEXT_BYTES];
    char device[KERNEL_PATH_BYTES];
    if (strncmp(name, "loop", 4) != 0) {
        return;
    }
    family_doubt(family, path, kernel_read_line(path, "loop/backing_file", backing, sizeof backing));
    snprintf(device, sizeof device, "%.2000s/dev/%.250s", family->tree->root, name);
    if (backing[0] != '\0' && is_ours(family, device, backing)) {
        add_made(path, family);
    }
}

/** zram writes what does not fit into memory to a device. */
static void add_zram(const char *path, const char *name, void *context) {
    struct family *family = context;
    char backing[TEXT_BYTES];
    if (strncmp(name, "zram", 4) != 0) {
        return;
    }
    family_doubt(family, path, kernel_read_line(path, "backing_dev", backing, sizeof backing));
    if (family_at(family, family->tree->root, backing) != NULL) {
        texts_add(&family->made, "zram /dev/%s", name);
    }
}

/** Files in which the kernel's exporters say which device they export: iSCSI, NVMe over fabrics, USB. */
static const char *const exports[] = {
    "/sys/kernel/config/target/core/*/*/udev_path",
    "/sys/kernel/config/target/core/*/*/info",
    "/sys/kernel/config/nvmet/subsystems/*/namespaces/*/device_path",
    "/sys/kernel/config/usb_gadget/*/functions/mass_storage.*/lun.*/file",
};

/** Every word of a line of such a file that is a path. */
static void take_export(char *line, void *context) {
    struct family *family = context;
    char *rest = NULL;
    for (char *word = strtok_r(line, " \t", &rest); word != NULL; word = strtok_r(NULL, " \t", &rest)) {
        const struct member *member = family_at(family, family->tree->root, word);
        if (member != NULL) {
            texts_add(&family->made, "export of %s", member->name);
        }
    }
}

/** glob has no context for this. Only one thread at a time looks for a family. */
static struct family *searched;

static int doubt_folder(const char *path, int error) {
    family_doubt(searched, path, -error);
    return 0;
}

static void find_exports(struct family *family) {
    searched = family;
    for (size_t i = 0; i < sizeof exports / sizeof exports[0]; i++) {
        char pattern[KERNEL_PATH_BYTES];
        glob_t found = {.gl_pathc = 0};
        snprintf(pattern, sizeof pattern, "%.2000s%s", family->tree->root, exports[i]);
        int end = glob(pattern, GLOB_NOSORT, doubt_folder, &found);
        for (size_t at = 0; end == 0 && at < found.gl_pathc; at++) {
            family_doubt(family, found.gl_pathv[at],
                         kernel_for_each_line(found.gl_pathv[at], take_export, family));
        }
        family_doubt(family, pattern, end == GLOB_NOSPACE ? -ENOMEM : 0);
        globfree(&found);
    }
}

/** The device that was named, which need not be listed in /sys, and may be a regular file. */
static void add_first(const struct use_node *node, const char *name, struct family *family) {
    char folder[KERNEL_PATH_BYTES];
    if (node->kind == USE_BLOCK) {
        snprintf(folder, sizeof folder, "%.2000s/sys/dev/block/%u:%u", family->tree->root, node->major,
                 node->minor);
        add_folder(folder, family, true);
    }
    struct member *member = add(family, node, true);
    if (member != NULL) {
        snprintf(member->name, sizeof member->name, "%.250s", name);
    }
}

static void begin(const struct use_tree *tree, struct family *family) {
    family->tree = tree;
    snprintf(family->processes, sizeof family->processes, "%.250s/proc", tree->root);
    family->count = family->made.count = family->unknown.count = 0;
}

void family_of(const struct use_tree *tree, const struct use_node *node, const char *name,
               struct family *family) {
    char folder[KERNEL_PATH_BYTES];
    begin(tree, family);
    add_first(node, name, family);
    snprintf(folder, sizeof folder, "%.2000s/sys/block", tree->root);
    size_t before = 0;
    while (family->count != before) { /* Loop devices can stand on each other, in any order. */
        before = family->count;
        int count = kernel_for_each(folder, add_loop, family);
        if (count < 0 && family_is_block(family)) {
            family_miss(family, folder, count);
        }
    }
    family_doubt(family, folder, kernel_for_each(folder, add_zram, family));
    find_exports(family);
}

void family_find(const struct use_tree *tree, const char *path, struct family *family) {
    struct use_node node;
    begin(tree, family);
    if (!use_look(tree, path, &node)) {
        family_miss(family, path, -errno);
        return;
    }
    char *real = realpath(path, NULL);
    family_of(tree, &node, real == NULL ? path : real, family);
    free(real);
}

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

const struct member *family_at(const struct family *family, const char *root, const char *path) {
    char whole[KERNEL_PATH_BYTES];
    struct use_node node;
    snprintf(whole, sizeof whole, "%.2000s%.2000s", root, path);
    if (path[0] != '/') {
        return NULL;
    }
    if (use_look(family->tree, whole, &node)) {
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
    kernel_read_line(path, "partition", number, sizeof number);
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
    kernel_read_line(folder, "dev", number, sizeof number);
    struct member *member =
        sscanf(number, "%u:%u", &node.major, &node.minor) == 2 ? add(family, &node, is_own) : NULL;
    if (member == NULL) {
        return NULL;
    }
    name_member(folder, member);
    snprintf(holders, sizeof holders, "%.2000s/holders", folder);
    kernel_for_each(holders, add_holder, &visit);
    kernel_for_each(folder, add_part, &visit);
    return member;
}

/** Whether a member, or a file system on one, is what a loop device stands on. */
static bool is_backing(const struct family *family, const struct use_node *node) {
    struct use_node below = {.kind = USE_BLOCK, .major = node->major, .minor = node->minor};
    return family_member(family, node) != NULL ||
           (node->kind == USE_FILE && family_member(family, &below) != NULL);
}

static void add_loop(const char *path, const char *name, void *context) {
    struct family *family = context;
    char backing[TEXT_BYTES];
    char device[KERNEL_PATH_BYTES];
    struct use_node node;
    if (strncmp(name, "loop", 4) != 0) {
        return;
    }
    kernel_read_line(path, "loop/backing_file", backing, sizeof backing);
    snprintf(device, sizeof device, "%.2000s/dev/%.250s", family->tree->root, name);
    if (backing[0] == '\0') {
        return;
    }
    bool is_ours = family->tree->find_backing(device, &node)
                       ? is_backing(family, &node)
                       : family_at(family, family->tree->root, backing) != NULL;
    if (is_ours) {
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
    kernel_read_line(path, "backing_dev", backing, sizeof backing);
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

/** Every word of such a file that is a path. */
static void take_export(const char *path, struct family *family) {
    char line[KERNEL_PATH_BYTES];
    FILE *stream = fopen(path, "re");
    while (stream != NULL && fgets(line, sizeof line, stream) != NULL) {
        char *rest = NULL;
        for (char *word = strtok_r(line, " \t\n", &rest); word != NULL;
             word = strtok_r(NULL, " \t\n", &rest)) {
            const struct member *member = family_at(family, family->tree->root, word);
            if (member != NULL) {
                texts_add(&family->made, "export of %s", member->name);
            }
        }
    }
    if (stream != NULL) {
        fclose(stream);
    }
}

static void find_exports(struct family *family) {
    for (size_t i = 0; i < sizeof exports / sizeof exports[0]; i++) {
        char pattern[KERNEL_PATH_BYTES];
        glob_t found = {.gl_pathc = 0};
        snprintf(pattern, sizeof pattern, "%.2000s%s", family->tree->root, exports[i]);
        if (glob(pattern, GLOB_NOSORT, NULL, &found) == 0) {
            for (size_t at = 0; at < found.gl_pathc; at++) {
                take_export(found.gl_pathv[at], family);
            }
        }
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

void family_of(const struct use_tree *tree, const struct use_node *node, const char *name,
               struct family *family) {
    char folder[KERNEL_PATH_BYTES];
    family->tree = tree;
    family->count = 0;
    family->made.count = 0;
    add_first(node, name, family);
    snprintf(folder, sizeof folder, "%.2000s/sys/block", tree->root);
    size_t before = 0;
    while (family->count != before) { /* Loop devices can stand on each other, in any order. */
        before = family->count;
        kernel_for_each(folder, add_loop, family);
    }
    kernel_for_each(folder, add_zram, family);
    find_exports(family);
}

void family_find(const struct use_tree *tree, const char *path, struct family *family) {
    struct use_node node;
    family->tree = tree;
    family->count = 0;
    family->made.count = 0;
    if (use_look(tree, path, &node)) {
        char *real = realpath(path, NULL);
        family_of(tree, &node, real == NULL ? path : real, family);
        free(real);
    }
}

/** What paths of this system lead to. */
#include "device/use_linux.h"

#include <fcntl.h>
#include <linux/loop.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

static bool look_in(int folder, const char *path, struct use_node *node) {
    struct stat status;
    if (fstatat(folder, path, &status, 0) != 0) {
        return false;
    }
    bool is_block = S_ISBLK(status.st_mode);
    dev_t device = is_block ? status.st_rdev : status.st_dev;
    *node = (struct use_node){.major = major(device), .minor = minor(device)};
    node->inode = is_block ? 0 : status.st_ino;
    /* The kernel's files without a place have no type. */
    node->kind = is_block                         ? USE_BLOCK
                 : S_ISREG(status.st_mode)        ? USE_FILE
                 : (status.st_mode & S_IFMT) == 0 ? USE_RING
                                                  : USE_OTHER;
    return true;
}

/** A device number as the kernel packs it for user space. */
static void unpack(struct use_node *node, uint64_t packed) {
    node->major = (unsigned)(packed >> 8 & 0xfff);
    node->minor = (unsigned)((packed & 0xff) | (packed >> 12 & 0xfff00));
}

/** Opened for reading, which disturbs no loop device. What it says needs no path that we can see. */
static bool find_backing(const char *path, struct use_node *node) {
    struct loop_info64 info;
    int descriptor = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    bool is_known = descriptor >= 0 && ioctl(descriptor, LOOP_GET_STATUS64, &info) == 0;
    if (descriptor >= 0) {
        close(descriptor);
    }
    if (is_known) {
        bool is_block = info.lo_rdevice != 0;
        *node = (struct use_node){.kind = is_block ? USE_BLOCK : USE_FILE};
        unpack(node, is_block ? info.lo_rdevice : info.lo_device);
        node->inode = is_block ? 0 : info.lo_inode;
    }
    return is_known;
}

const struct use_tree use_own_tree = {.root = "", .look_in = look_in, .find_backing = find_backing};

bool use_look(const struct use_tree *tree, const char *path, struct use_node *node) {
    return tree->look_in(AT_FDCWD, path, node);
}

bool use_same_node(const struct use_node *one, const struct use_node *other) {
    return one->kind == other->kind && one->major == other->major && one->minor == other->minor &&
           one->inode == other->inode;
}

bool use_number(const struct use_tree *tree, const char *path, char *number, size_t size) {
    struct use_node node;
    if (!use_look(tree, path, &node) || node.kind != USE_BLOCK) {
        return false;
    }
    snprintf(number, size, "%u:%u", node.major, node.minor);
    return true;
}

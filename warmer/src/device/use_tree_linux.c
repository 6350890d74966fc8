/** What paths of this system lead to. */
#include "device/use_linux.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <linux/loop.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/**
 * As statx. What the kernel has in memory is enough: it is asked not to wait for the server of a network
 * share, which may be gone. Kernels before 4.11 and some containers refuse that; then the answer is waited
 * for.
 */
static int look_at(int folder, const char *path, struct statx *found) {
    struct stat status;
    if (statx(folder, path, AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT, STATX_TYPE | STATX_INO, found) == 0) {
        return 0;
    }
    if ((errno != ENOSYS && errno != EPERM && errno != EINVAL) || fstatat(folder, path, &status, 0) != 0) {
        return -1;
    }
    *found = (struct statx){.stx_mode = (uint16_t)status.st_mode,
                            .stx_ino = status.st_ino,
                            .stx_dev_major = major(status.st_dev),
                            .stx_dev_minor = minor(status.st_dev),
                            .stx_rdev_major = major(status.st_rdev),
                            .stx_rdev_minor = minor(status.st_rdev)};
    return 0;
}

static bool look_in(int folder, const char *path, struct use_node *node) {
    struct statx found;
    if (look_at(folder, path, &found) != 0) {
        return false;
    }
    bool is_block = S_ISBLK(found.stx_mode);
    *node = (struct use_node){.major = is_block ? found.stx_rdev_major : found.stx_dev_major,
                              .minor = is_block ? found.stx_rdev_minor : found.stx_dev_minor,
                              .inode = is_block ? 0 : found.stx_ino};
    /* The kernel's files without a place have no type. */
    node->kind = is_block                         ? USE_BLOCK
                 : S_ISREG(found.stx_mode)        ? USE_FILE
                 : (found.stx_mode & S_IFMT) == 0 ? USE_RING
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
    int failure = errno;
    if (descriptor >= 0) {
        close(descriptor);
    }
    errno = failure;
    if (is_known) {
        bool is_block = info.lo_rdevice != 0;
        *node = (struct use_node){.kind = is_block ? USE_BLOCK : USE_FILE};
        unpack(node, is_block ? info.lo_rdevice : info.lo_device);
        node->inode = is_block ? 0 : info.lo_inode;
    }
    return is_known;
}

static bool shares_files(unsigned long process, unsigned long thread) {
    return syscall(SYS_kcmp, process, thread, KCMP_FILES, 0, 0) == 0;
}

/** For reading, because udev examines anew what was opened for writing. The name may be another device's. */
static int take_alone(const char *path, const struct use_node *node) {
    struct stat status;
    int descriptor = open(path, O_RDONLY | O_EXCL | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    int failure = descriptor < 0 || fstat(descriptor, &status) != 0 ? -errno : 0;
    if (descriptor >= 0) {
        close(descriptor);
    }
    bool is_it = failure == 0 && S_ISBLK(status.st_mode) && major(status.st_rdev) == node->major &&
                 minor(status.st_rdev) == node->minor;
    return failure == 0 && !is_it ? -ENODEV : failure;
}

const struct use_tree use_own_tree = {.root = "",
                                      .look_in = look_in,
                                      .find_backing = find_backing,
                                      .shares_files = shares_files,
                                      .take_alone = take_alone};

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

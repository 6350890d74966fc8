#ifndef WARMER_FILE_SYSTEM_LINUX_H
#define WARMER_FILE_SYSTEM_LINUX_H

#include "base/diag.h"

#include <stdbool.h>

/** The file system of a volume that can be mounted. */
struct file_system {
    char volume_id[32];
    char disk[512];        /**< The path of the whole disk. */
    char device[512];      /**< The path of what has it: the disk, or a partition. */
    unsigned major, minor; /**< Of the device. */
    unsigned disk_major, disk_minor;
    unsigned kind; /**< Of mount_options.h. */
    char type[32]; /**< As the kernel calls it. */
    char uuid[64]; /**< Empty: none; so are the next ones. */
    char label[512];
    char part_uuid[64];
    char part_label[512];
    unsigned part_number; /**< 0: the disk itself. */
};

/**
 * Find the file system of a volume's disk: the disk's own, or that of its only partition that has one.
 * Nothing is written. Returns 0, or WARMER_NOT_MOUNTABLE with the reason: none or several, another kind than
 * ext2 to ext4, XFS and btrfs, or one of which a part is on another device.
 */
int file_system_find(const char *volume_id, const char *disk, struct file_system *found, struct diag *diag);

/** Whether the disk is known to be the volume still, by serial number or else by name. */
bool file_system_is_of_volume(const struct file_system *file_system);

#endif

#ifndef WARMER_UNMOUNT_LINUX_H
#define WARMER_UNMOUNT_LINUX_H

#include "base/diag.h"

/**
 * Unmount everything that this mount namespace has of a disk, and print where that was. Processes that use it
 * are asked to end for 30 seconds, and then made to; but none is touched where that cannot free it: a file
 * system is mounted below, something is made of the disk, or another mount namespace keeps a copy. At the end
 * the kernel is asked whether it still holds the disk. Returns 0, WARMER_NOT_MOUNTABLE (nothing was ended),
 * or WARMER_HELD.
 */
int unmount_disk(const char *disk, struct diag *diag);

#endif

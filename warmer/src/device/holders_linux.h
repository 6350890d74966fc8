#ifndef WARMER_HOLDERS_LINUX_H
#define WARMER_HOLDERS_LINUX_H

/** Only the files that look for a device's users include this. */
#include "device/family_linux.h"

/**
 * Whether the kernel gives the disk to somebody alone, which it does not while anything has it or one of its
 * partitions alone: a file system that is alive, mounted or not, swap, what is made of it, another program.
 * It is tried by an open of `path` for reading that ends at once; meanwhile the same fails for others.
 * Returns 0, -EBUSY where it is held, or another -errno where that cannot be known.
 */
int holders_try(const struct family *family, const char *path);

/** Find out, in words, what holds a disk that holders_try says is held; at least that the kernel does. */
void holders_find(struct family *family, struct texts *found);

#endif

#ifndef WARMER_MOUNTS_LINUX_H
#define WARMER_MOUNTS_LINUX_H

/** Only the files that look for a device's users include this. */
#include "device/family_linux.h"

/**
 * Find where file systems of the family are mounted, in every process's mount namespace, and file systems on
 * other devices that keep their journal on it.
 */
void mounts_find(struct family *family, struct texts *mounts, struct texts *journals);

/** Note that the mounts of a process, by its folder, could not all be read, unless it has ended. */
void mounts_doubt(struct family *family, const char *process, int failure);

/**
 * Find where file systems of the family are mounted in namespaces that no process is in, but that a mount of
 * them keeps (nsfs). Each is entered for a moment, so this is only for devices that are known to be in use.
 */
void mounts_find_kept(struct family *family, struct texts *found);

/** Find overlays, which stand on folders of other file systems. */
void mounts_find_overlays(struct family *family, struct texts *found);

/**
 * Unmount what this process's own namespace has mounted of the disk itself and its partitions, the last one
 * first. What is made of them stays in use all the same, so it is left alone; so are other namespaces.
 */
void mounts_end(struct family *family);

#endif

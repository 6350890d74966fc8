#ifndef WARMER_MOUNT_LINUX_H
#define WARMER_MOUNT_LINUX_H

#include "mount/places_linux.h"

/**
 * Mount the file system of a volume's disk where it belongs, and print where that is. A second call at the
 * same time waits for the first; what is mounted already stays as it is. Nothing is formatted or repaired.
 * Returns 0, or a refusal's status: WARMER_NOT_MOUNTABLE where nothing was changed, WARMER_NO_TRANSFER where
 * a tool failed.
 */
int mount_volume(const char *volume_id, const char *disk, const struct mount_wish *wish, struct diag *diag);

#endif

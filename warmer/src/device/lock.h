#ifndef WARMER_LOCK_H
#define WARMER_LOCK_H

#include "base/diag.h"
#include "device/device.h"

/** Held while this process warms a device; the system lets go of it when the process ends, however it ends.
 */
struct lock;

/** Take the device's lock; 0, or WARMER_CANNOT_OPEN if another process warms it. */
int lock_device(const struct device *device, const char *path, struct lock **held, struct diag *diag);

/** Let go; NULL is allowed. */
void lock_release(struct lock *lock);

#endif

#ifndef WARMER_LOCK_H
#define WARMER_LOCK_H

#include "base/diag.h"
#include "device/device.h"

/** Held while this process warms a device. The system releases it when the process ends. */
struct lock;

/** Lock the device. Returns 0, or WARMER_CANNOT_OPEN with the reason if another process is warming it. */
int lock_device(const struct device *device, const char *path, struct lock **held, struct diag *diag);

/** Release the lock. NULL is allowed. */
void lock_release(struct lock *lock);

#endif

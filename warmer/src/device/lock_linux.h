#ifndef WARMER_LOCK_LINUX_H
#define WARMER_LOCK_LINUX_H

#include "device/lock.h"

#include <stddef.h>

#define LOCK_FOLDER_BYTES 256u

/**
 * Lock the file of this name in the folder of the locks, which `place` gets. Returns a descriptor that holds
 * the lock, or -errno, of which -EWOULDBLOCK says that another process has it.
 */
int lock_take(const char *name, char *place, size_t size);

/** In words why a lock could not be taken. */
const char *lock_explain(int failure);

#endif

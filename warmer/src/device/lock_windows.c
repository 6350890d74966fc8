/**
 * One warm-up at a time for each device. The lock is a named kernel object; its name is made of the device's
 * number and not of its path. All sessions see it, because SSM Run Command works in another session than a
 * person does. It vanishes with the process.
 */
#include "device/lock.h"

#include "system/windows_error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>

struct lock {
    HANDLE event;
};

/** NULL or why not. */
static const char *take(struct lock *lock, const struct device *device) {
    char key[64];
    char name[128];
    device_key(device, key, sizeof key);
    snprintf(name, sizeof name, "Global\\rewarm-warmer-%s", key);
    lock->event = CreateEventA(NULL, TRUE, FALSE, name);
    DWORD error = GetLastError();
    /* Another user's object cannot even be opened. */
    if (lock->event != NULL ? error == ERROR_ALREADY_EXISTS : error == ERROR_ACCESS_DENIED) {
        return "another warmer is reading it";
    }
    return lock->event != NULL ? NULL : strerror(windows_errno(error));
}

int lock_device(const struct device *device, const char *path, struct lock **held, struct diag *diag) {
    struct lock *lock = calloc(1, sizeof *lock);
    const char *reason = lock == NULL ? "out of memory" : take(lock, device);
    if (reason != NULL) {
        lock_release(lock);
        return diag_refuse(diag, WARMER_CANNOT_OPEN, "cannot lock %s: %s", path, reason);
    }
    *held = lock;
    return 0;
}

void lock_release(struct lock *lock) {
    if (lock == NULL) {
        return;
    }
    if (lock->event != NULL) {
        CloseHandle(lock->event);
    }
    free(lock);
}

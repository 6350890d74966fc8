/**
 * One warm-up at a time for each device.
 *
 * SSM Run Command may deliver a command twice, and two warm-ups would read every block twice. The lock is a
 * name of an abstract socket, made of the device's number and not of its path. It needs no folder, and it
 * vanishes with the process. A flock on the device would keep udev from examining a block device while it is
 * held.
 */
#include "device/lock.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

struct lock {
    int descriptor;
};

/** Bind the name; 0 or -errno. */
static int bind_name(int descriptor, const struct device *device) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char key[64];
    device_key(device, key, sizeof key);
    /* The leading zero byte makes the name abstract: it is no file. */
    int length = snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "rewarm-warmer-%s", key);
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
    return bind(descriptor, (const struct sockaddr *)&address, size) == 0 ? 0 : -errno;
}

int lock_device(const struct device *device, const char *path, struct lock **held, struct diag *diag) {
    struct lock *lock = malloc(sizeof *lock);
    if (lock == NULL) {
        return diag_refuse(diag, WARMER_CANNOT_OPEN, "cannot lock %s: out of memory", path);
    }
    lock->descriptor = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    int failure = lock->descriptor < 0 ? -errno : bind_name(lock->descriptor, device);
    if (failure != 0) {
        lock_release(lock);
        const char *reason = failure == -EADDRINUSE ? "another warmer is reading it" : strerror(-failure);
        return diag_refuse(diag, WARMER_CANNOT_OPEN, "cannot lock %s: %s", path, reason);
    }
    *held = lock;
    return 0;
}

void lock_release(struct lock *lock) {
    if (lock == NULL) {
        return;
    }
    if (lock->descriptor >= 0) {
        close(lock->descriptor);
    }
    free(lock);
}

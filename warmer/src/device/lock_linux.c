/**
 * One warm-up at a time for each device.
 *
 * SSM Run Command may deliver a command twice, and two warm-ups would read every block twice. The lock is a
 * flock(2) on a file that is named by the device's number and not by its path, in a folder that nobody else
 * can write to: so nobody else can hold it. It ends with the process; the file stays, empty. A flock on the
 * device itself would keep udev from examining a block device while it is held.
 *
 * Whoever sees another /run, as in a container, has other locks. So the lock saves work, and guards nothing:
 * a device that is written to is guarded by O_EXCL, which crosses all namespaces.
 */
#include "device/lock_linux.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

struct lock {
    int descriptor;
};

/** Where the folder is: of root in /run, or where there is none in /var/lib; of others where only they are.
 */
static const char *choose_parent(char *name, size_t size) {
    const char *own = getenv("XDG_RUNTIME_DIR");
    snprintf(name, size, "rewarm");
    if (geteuid() == 0) {
        return access("/run", W_OK) == 0 ? "/run" : "/var/lib";
    }
    if (own != NULL && own[0] == '/') {
        return own;
    }
    snprintf(name, size, "rewarm-%lu", (unsigned long)geteuid());
    return "/tmp";
}

/** Whether it is this user's own, of this kind, and nobody else can write to it; 0 or -errno. */
static int check(int descriptor, mode_t kind) {
    struct stat status;
    if (fstat(descriptor, &status) != 0) {
        return -errno;
    }
    bool is_own = (status.st_mode & S_IFMT) == kind && status.st_uid == geteuid() &&
                  (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
    return is_own ? 0 : -EPERM;
}

/** Open the folder of the locks, which is made if there is none. A descriptor or -errno. */
static int open_folder(char *path, size_t size) {
    char name[32];
    const char *parent = choose_parent(name, sizeof name);
    snprintf(path, size, "%.200s/%s", parent, name);
    if (mkdir(path, 0700) != 0 && errno != EEXIST) {
        return -errno;
    }
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    int failure = folder < 0 ? -errno : check(folder, S_IFDIR);
    if (failure != 0 && folder >= 0) {
        close(folder);
    }
    return failure == 0 ? folder : failure;
}

/** Open the file and lock it; a descriptor or -errno, of which -EWOULDBLOCK says that another one has it. */
static int take(int folder, const char *name) {
    int file = openat(folder, name, O_RDONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
    int failure = file < 0 ? -errno : check(file, S_IFREG);
    if (failure == 0 && flock(file, LOCK_EX | LOCK_NB) != 0) {
        failure = -errno;
    }
    if (failure != 0 && file >= 0) {
        close(file);
    }
    return failure == 0 ? file : failure;
}

int lock_take(const char *name, char *place, size_t size) {
    int folder = open_folder(place, size);
    if (folder < 0) {
        return folder;
    }
    int file = take(folder, name);
    close(folder);
    return file;
}

const char *lock_explain(int failure) {
    return failure == -EPERM || failure == -ELOOP || failure == -ENOTDIR
               ? "the folder or the file is somebody else's, or others can write to it"
               : strerror(-failure);
}

/** A descriptor of the lock, or -errno with what it is about in `place`. */
static int take_key(const struct device *device, char *place, size_t size) {
    char key[64];
    char name[80];
    device_key(device, key, sizeof key);
    snprintf(name, sizeof name, "%s.lock", key);
    return lock_take(name, place, size);
}

int lock_device(const struct device *device, const char *path, struct lock **held, struct diag *diag) {
    char place[LOCK_FOLDER_BYTES] = "";
    struct lock *lock = malloc(sizeof *lock);
    if (lock == NULL) {
        return diag_refuse(diag, WARMER_CANNOT_OPEN, "cannot lock %s: out of memory", path);
    }
    lock->descriptor = take_key(device, place, sizeof place);
    if (lock->descriptor >= 0) {
        *held = lock;
        return 0;
    }
    int failure = lock->descriptor;
    free(lock);
    if (failure == -EWOULDBLOCK) {
        return diag_refuse(diag, WARMER_CANNOT_OPEN, "cannot lock %s: another warmer is reading it", path);
    }
    return diag_refuse(diag, WARMER_CANNOT_OPEN, "cannot lock %s by a file in %s: %s", path, place,
                       lock_explain(failure));
}

void lock_release(struct lock *lock) {
    if (lock == NULL) {
        return;
    }
    close(lock->descriptor);
    free(lock);
}

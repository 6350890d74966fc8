#include "system/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH_BYTES 4096u

FILE *file_open(const char *path) {
    return fopen(path, "rb");
}

FILE *file_create(const char *path) {
    int descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    FILE *stream = descriptor < 0 ? NULL : fdopen(descriptor, "wb");
    if (descriptor >= 0 && stream == NULL) {
        close(descriptor);
    }
    return stream;
}

int file_keep_name(const char *path) {
    char folder[PATH_BYTES];
    snprintf(folder, sizeof folder, "%s", path);
    char *end = strrchr(folder, '/');
    snprintf(end == NULL ? folder : end + 1, 2, "%s", end == NULL ? "." : "");
    int descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int failure = descriptor < 0 || fsync(descriptor) != 0 ? -errno : 0;
    if (descriptor >= 0) {
        close(descriptor);
    }
    return failure;
}

int file_close_kept(FILE *stream, const char *path) {
    int failure = fflush(stream) != 0 || fsync(fileno(stream)) != 0 ? -errno : 0;
    failure = fclose(stream) != 0 && failure == 0 ? -errno : failure;
    return failure == 0 ? file_keep_name(path) : failure;
}

int file_make_folder(const char *path) {
    return mkdir(path, 0700) == 0 ? 0 : -errno;
}

int file_take_folder(const char *path) {
    struct stat taken;
    struct stat named;
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder < 0) {
        return errno == ENOENT ? -EBUSY : 0;
    }
    int failure = flock(folder, LOCK_EX | LOCK_NB) == 0 ? 0 : -errno;
    /* Whoever had it may have deleted it. */
    bool is_it = failure == 0 && fstat(folder, &taken) == 0 && taken.st_uid == geteuid() &&
                 lstat(path, &named) == 0 && named.st_ino == taken.st_ino && named.st_dev == taken.st_dev;
    if (is_it) {
        return folder;
    }
    close(folder);
    return failure == 0 || failure == -EWOULDBLOCK ? -EBUSY : 0;
}

int file_delete(const char *path) {
    return remove(path) == 0 ? 0 : -errno;
}

const char *file_temporary_folder(const char *home) {
    const char *folder = getenv("TMPDIR");
    (void)home;
    return folder == NULL || folder[0] == '\0' ? "/tmp" : folder;
}

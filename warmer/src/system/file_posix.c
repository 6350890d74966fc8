#include "system/file.h"

#include "system/file_linux.h"
#include "system/folder_linux.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

bool file_is_there(const char *path) {
    return access(path, R_OK) == 0;
}

FILE *file_open(const char *path) {
    return fopen(path, "rb");
}

int file_keep(const char *path, int flags) {
    char name[FOLDER_NAME_BYTES];
    struct stat status;
    int place = folder_walk_to(path, name);
    if (place < 0) {
        return place;
    }
    int file = openat(place, name, flags | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0600);
    int failure = file < 0 || fstat(file, &status) != 0 ? -errno : 0;
    if (failure == 0 && (!S_ISREG(status.st_mode) || status.st_uid != geteuid() || status.st_nlink > 1)) {
        failure = -EMLINK;
    }
    if (failure != 0 && file >= 0) {
        close(file);
    }
    close(place);
    return failure == 0 ? file : failure;
}

/** A stream of a descriptor, which may be -errno. */
static FILE *stream_of(int descriptor, const char *mode) {
    FILE *stream = descriptor < 0 ? NULL : fdopen(descriptor, mode);
    if (descriptor >= 0 && stream == NULL) {
        close(descriptor);
    }
    if (descriptor < 0) {
        errno = -descriptor;
    }
    return stream;
}

FILE *file_open_own(const char *path) {
    return stream_of(file_keep(path, O_RDONLY), "rb");
}

FILE *file_create(const char *path) {
    char name[FOLDER_NAME_BYTES];
    int place = folder_walk_to(path, name);
    int descriptor = place < 0 ? place : folder_create(place, name);
    if (place >= 0) {
        close(place);
    }
    return stream_of(descriptor, "wb");
}

/** Let the disk keep the name of a new file, which a crash could take back. */
static int keep_name(const char *path) {
    char name[FOLDER_NAME_BYTES];
    int place = folder_walk_to(path, name);
    int failure = place < 0 ? place : folder_keep_names(place);
    if (place >= 0) {
        close(place);
    }
    return failure;
}

int file_close_kept(FILE *stream, const char *path) {
    int failure = fflush(stream) != 0 || fsync(fileno(stream)) != 0 ? -errno : 0;
    failure = fclose(stream) != 0 && failure == 0 ? -errno : failure;
    return failure == 0 ? keep_name(path) : failure;
}

int file_delete(const char *path) {
    char name[FOLDER_NAME_BYTES];
    int place = folder_walk_to(path, name);
    if (place < 0) {
        return place;
    }
    int failure =
        unlinkat(place, name, 0) == 0 || (errno == EISDIR && unlinkat(place, name, AT_REMOVEDIR) == 0)
            ? 0
            : -errno;
    close(place);
    return failure;
}

const char *file_temporary_folder(const char *home) {
    const char *folder = getenv("TMPDIR");
    (void)home;
    return folder == NULL || folder[0] == '\0' ? "/tmp" : folder;
}

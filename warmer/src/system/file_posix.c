#include "system/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
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

int file_delete(const char *path) {
    return remove(path) == 0 ? 0 : -errno;
}

const char *file_temporary_folder(const char *home) {
    const char *folder = getenv("TMPDIR");
    (void)home;
    return folder == NULL || folder[0] == '\0' ? "/tmp" : folder;
}

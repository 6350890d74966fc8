#include "system/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

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

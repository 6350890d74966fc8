/** A file that gets its name once all of it is on the disk, and takes no other file's place. */
#include "system/file.h"
#include "system/upload_kinds.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATH_BYTES 4096u

struct new_file {
    char path[PATH_BYTES];
    char temporary[PATH_BYTES + 8];
    int descriptor;
};

int new_file_begin(const char *path, struct new_file **begun) {
    struct new_file *file = calloc(1, sizeof *file);
    if (file == NULL || strlen(path) >= sizeof file->path) {
        free(file);
        return file == NULL ? -ENOMEM : -ENAMETOOLONG;
    }
    snprintf(file->path, sizeof file->path, "%s", path);
    snprintf(file->temporary, sizeof file->temporary, "%s.new", path);
    file->descriptor = open(file->temporary, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (file->descriptor < 0) {
        int failure = -errno;
        free(file);
        return failure;
    }
    *begun = file;
    return 0;
}

bool new_file_write(struct new_file *file, const void *bytes, size_t length) {
    const char *at = bytes;
    while (length > 0) {
        ssize_t count = write(file->descriptor, at, length);
        if (count <= 0) {
            return false;
        }
        at += count;
        length -= (size_t)count;
    }
    return true;
}

int new_file_keep(struct new_file *file) {
    if (fsync(file->descriptor) != 0 || link(file->temporary, file->path) != 0) {
        return -errno;
    }
    return file_keep_name(file->path);
}

void new_file_close(struct new_file *file) {
    close(file->descriptor);
    unlink(file->temporary);
    free(file);
}

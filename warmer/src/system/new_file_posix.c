/** A file that gets its name once all of it is on the disk, and takes no other file's place. */
#include "system/folder_linux.h"
#include "system/upload_kinds.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct new_file {
    int place; /**< The folder, open. */
    char name[FOLDER_NAME_BYTES];
    char temporary[FOLDER_NAME_BYTES + 8];
    int descriptor;
};

static void close_place(const struct new_file *file) {
    if (file->place >= 0) {
        close(file->place);
    }
}

int new_file_begin(const char *path, struct new_file **begun) {
    struct new_file *file = calloc(1, sizeof *file);
    if (file == NULL) {
        return -ENOMEM;
    }
    file->place = folder_walk_to(path, file->name);
    snprintf(file->temporary, sizeof file->temporary, "%s.new", file->name);
    file->descriptor = file->place < 0 ? file->place : folder_create(file->place, file->temporary);
    if (file->descriptor < 0) {
        int failure = file->descriptor;
        close_place(file);
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
    if (fsync(file->descriptor) != 0 ||
        linkat(file->place, file->temporary, file->place, file->name, 0) != 0) {
        return -errno;
    }
    return folder_keep_names(file->place);
}

void new_file_close(struct new_file *file) {
    close(file->descriptor);
    (void)unlinkat(file->place, file->temporary, 0);
    close_place(file);
    free(file);
}

#include "backing.h"

#include "memory.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static int open_segment(const char *path, size_t number, uint64_t size_bytes) {
    char name[PATH_MAX];
    struct stat status;
    int file, error;

    snprintf(name, sizeof(name), number ? "%s.%zu" : "%s", path, number);
    file = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0)
        return -errno;
    if (fstat(file, &status) == 0 &&
        ((uint64_t)status.st_size >= size_bytes || ftruncate(file, (off_t)size_bytes) == 0))
        return file;
    error = errno;
    close(file);
    return -error;
}

int backing_open(struct backing *backing, const char *path, uint64_t size_bytes) {
    size_t segments = (size_t)((size_bytes + SEGMENT_BYTES - 1) / SEGMENT_BYTES);

    backing->files = must_calloc(segments, sizeof(*backing->files));
    for (backing->count = 0; backing->count < segments; backing->count++) {
        uint64_t left = size_bytes - backing->count * SEGMENT_BYTES;
        int file = open_segment(path, backing->count, left < SEGMENT_BYTES ? left : SEGMENT_BYTES);

        if (file < 0)
            return file;
        backing->files[backing->count] = file;
    }
    return 0;
}

void backing_close(struct backing *backing) {
    for (size_t i = 0; i < backing->count; i++)
        close(backing->files[i]);
    free(backing->files);
}

/* What of a request lies in the segment of its first byte. */
struct part {
    int file;
    off_t offset;
    size_t length;
};

static struct part part_at(const struct backing *backing, uint64_t offset, size_t length) {
    uint64_t inside = offset % SEGMENT_BYTES, left = SEGMENT_BYTES - inside;

    return (struct part){
        .file = backing->files[offset / SEGMENT_BYTES],
        .offset = (off_t)inside,
        .length = left < length ? (size_t)left : length,
    };
}

/* Adds what a read or a write has moved; 0, or a negative errno. A signal moves nothing and is no error. */
static int add_moved(ssize_t moved, size_t *done) {
    if (moved < 0)
        return errno == EINTR ? 0 : -errno;
    *done += (size_t)moved;
    return moved == 0 ? -EIO : 0;
}

int backing_read(const struct backing *backing, char *buffer, size_t length, uint64_t offset) {
    size_t done = 0;
    int error = 0;

    while (error == 0 && done < length) {
        struct part part = part_at(backing, offset + done, length - done);
        error = add_moved(pread(part.file, buffer + done, part.length, part.offset), &done);
    }
    return error;
}

int backing_write(const struct backing *backing, const char *buffer, size_t length, uint64_t offset) {
    size_t done = 0;
    int error = 0;

    while (error == 0 && done < length) {
        struct part part = part_at(backing, offset + done, length - done);
        error = add_moved(pwrite(part.file, buffer + done, part.length, part.offset), &done);
    }
    return error;
}

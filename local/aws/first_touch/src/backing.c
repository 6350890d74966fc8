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

/* The part of a request that lies in the segment of its first byte. */
static size_t segment_part(uint64_t offset, size_t length) {
    uint64_t left = SEGMENT_BYTES - offset % SEGMENT_BYTES;

    return left < length ? (size_t)left : length;
}

int backing_read(const struct backing *backing, char *buffer, size_t length, uint64_t offset) {
    while (length > 0) {
        int file = backing->files[offset / SEGMENT_BYTES];
        ssize_t done = pread(file, buffer, segment_part(offset, length), (off_t)(offset % SEGMENT_BYTES));

        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return done < 0 ? -errno : -EIO;
        buffer += done;
        offset += (uint64_t)done;
        length -= (size_t)done;
    }
    return 0;
}

int backing_write(const struct backing *backing, const char *buffer, size_t length, uint64_t offset) {
    while (length > 0) {
        int file = backing->files[offset / SEGMENT_BYTES];
        ssize_t done = pwrite(file, buffer, segment_part(offset, length), (off_t)(offset % SEGMENT_BYTES));

        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return done < 0 ? -errno : -EIO;
        buffer += done;
        offset += (uint64_t)done;
        length -= (size_t)done;
    }
    return 0;
}

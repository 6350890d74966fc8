#include "system/state_file.h"

#include "system/file_linux.h"
#include "system/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct state_file {
    int descriptor;
    void *memory;
    size_t bytes;
};

/** Open and lock; NULL, or the reason why that failed. */
static const char *prepare(struct state_file *file, const char *path) {
    file->descriptor = file_keep(path, O_RDWR | O_CREAT);
    if (file->descriptor < 0) {
        return folder_explain(file->descriptor);
    }
    if (flock(file->descriptor, LOCK_EX | LOCK_NB) != 0) {
        return errno == EWOULDBLOCK ? "another warmer is using it" : strerror(errno);
    }
    return NULL;
}

const char *state_file_open(const char *path, struct state_file **opened) {
    struct state_file *file = calloc(1, sizeof *file);
    *opened = file;
    return file == NULL ? "out of memory" : prepare(file, path);
}

uint64_t state_file_bytes(const struct state_file *file) {
    struct stat status;
    return fstat(file->descriptor, &status) == 0 ? (uint64_t)status.st_size : 0;
}

int64_t state_file_read(const struct state_file *file, void *bytes, size_t size) {
    ssize_t got = pread(file->descriptor, bytes, size, 0);
    return got < 0 ? -errno : got;
}

/** Room, first bytes, both on the disk; 0 or -errno. */
static int fill(struct state_file *file, uint64_t size, const void *head, size_t head_size) {
    int failure = posix_fallocate(file->descriptor, 0, (off_t)size);
    if (failure != 0) {
        return -failure;
    }
    ssize_t written = pwrite(file->descriptor, head, head_size, 0);
    if (written != (ssize_t)head_size) {
        return written < 0 ? -errno : -EIO;
    }
    return fsync(file->descriptor) == 0 ? 0 : -errno;
}

int state_file_make(struct state_file *file, uint64_t size, const void *head, size_t head_size) {
    int failure = fill(file, size, head, head_size);
    if (failure != 0) {
        /* So that the next start does not find half a header. */
        (void)!ftruncate(file->descriptor, 0);
    }
    return failure;
}

void *state_file_map(struct state_file *file, size_t size) {
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, file->descriptor, 0);
    if (memory == MAP_FAILED) {
        return NULL;
    }
    file->memory = memory;
    file->bytes = size;
    return memory;
}

void state_file_release(struct state_file *file) {
    madvise(file->memory, file->bytes, MADV_DONTNEED);
}

void state_file_sync(struct state_file *file) {
    msync(file->memory, file->bytes, MS_SYNC);
}

void state_file_close(struct state_file *file) {
    if (file == NULL) {
        return;
    }
    if (file->memory != NULL) {
        munmap(file->memory, file->bytes);
    }
    if (file->descriptor >= 0) {
        close(file->descriptor);
    }
    free(file);
}

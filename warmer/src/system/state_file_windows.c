#include "system/state_file.h"

#include "system/windows_error.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>

struct state_file {
    HANDLE handle;
    HANDLE mapping;
    void *memory;
    size_t bytes;
};

/** Open for this process alone; NULL, or the reason why that failed. */
static const char *prepare(struct state_file *file, const char *path) {
    wchar_t *wide = windows_path(path);
    file->handle = INVALID_HANDLE_VALUE;
    if (wide == NULL) {
        return strerror(ENOENT);
    }
    file->handle = CreateFileW(wide, GENERIC_READ | GENERIC_WRITE, 0, NULL, OPEN_ALWAYS,
                               FILE_ATTRIBUTE_NORMAL | FILE_FLAG_OPEN_REPARSE_POINT, NULL);
    DWORD error = GetLastError();
    free(wide);
    if (file->handle == INVALID_HANDLE_VALUE) {
        return error == ERROR_SHARING_VIOLATION ? "another warmer is using it"
                                                : strerror(windows_errno(error));
    }
    BY_HANDLE_FILE_INFORMATION status;
    if (GetFileType(file->handle) != FILE_TYPE_DISK || !GetFileInformationByHandle(file->handle, &status) ||
        (status.dwFileAttributes & (FILE_ATTRIBUTE_DIRECTORY | FILE_ATTRIBUTE_REPARSE_POINT)) != 0) {
        return "it is not a regular file";
    }
    return NULL;
}

const char *state_file_open(const char *path, struct state_file **opened) {
    struct state_file *file = calloc(1, sizeof *file);
    *opened = file;
    return file == NULL ? "out of memory" : prepare(file, path);
}

uint64_t state_file_bytes(const struct state_file *file) {
    LARGE_INTEGER size;
    return GetFileSizeEx(file->handle, &size) ? (uint64_t)size.QuadPart : 0;
}

static bool seek(const struct state_file *file, uint64_t offset) {
    LARGE_INTEGER distance = {.QuadPart = (LONGLONG)offset};
    return SetFilePointerEx(file->handle, distance, NULL, FILE_BEGIN);
}

int64_t state_file_read(const struct state_file *file, void *bytes, size_t size) {
    DWORD got = 0;
    if (!seek(file, 0) || !ReadFile(file->handle, bytes, (DWORD)size, &got, NULL)) {
        return -windows_errno(GetLastError());
    }
    return got;
}

/** NTFS gives room to all of a file that is made longer, and reads the unwritten part as zeros. */
static bool fill(struct state_file *file, uint64_t size, const void *head, size_t head_size) {
    DWORD written = 0;
    return seek(file, size) && SetEndOfFile(file->handle) && seek(file, 0) &&
           WriteFile(file->handle, head, (DWORD)head_size, &written, NULL) && written == head_size &&
           FlushFileBuffers(file->handle);
}

int state_file_make(struct state_file *file, uint64_t size, const void *head, size_t head_size) {
    if (fill(file, size, head, head_size)) {
        return 0;
    }
    int failure = windows_errno(GetLastError());
    /* So that the next start does not find half a header. */
    if (seek(file, 0)) {
        SetEndOfFile(file->handle);
    }
    return -failure;
}

void *state_file_map(struct state_file *file, size_t size) {
    file->mapping = CreateFileMappingW(file->handle, NULL, PAGE_READWRITE, 0, 0, NULL);
    if (file->mapping != NULL) {
        file->memory = MapViewOfFile(file->mapping, FILE_MAP_READ | FILE_MAP_WRITE, 0, 0, size);
    }
    if (file->memory == NULL) {
        errno = windows_errno(GetLastError());
    }
    file->bytes = size;
    return file->memory;
}

void state_file_release(struct state_file *file) {
    /* Pages that were never locked leave the working set (VirtualUnlock's documentation). */
    (void)VirtualUnlock(file->memory, file->bytes);
}

void state_file_sync(struct state_file *file) {
    FlushViewOfFile(file->memory, 0);
    FlushFileBuffers(file->handle);
}

void state_file_close(struct state_file *file) {
    if (file == NULL) {
        return;
    }
    if (file->memory != NULL) {
        UnmapViewOfFile(file->memory);
    }
    if (file->mapping != NULL) {
        CloseHandle(file->mapping);
    }
    if (file->handle != INVALID_HANDLE_VALUE) {
        CloseHandle(file->handle);
    }
    free(file);
}

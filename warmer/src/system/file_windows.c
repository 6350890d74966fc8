#include "system/file.h"

#include "system/windows_error.h"

#include <errno.h>
#include <io.h>
#include <stdbool.h>
#include <stdlib.h>
#include <windows.h>

static FILE *open_as(const char *path, const wchar_t *mode) {
    wchar_t *wide = windows_path(path);
    if (wide == NULL) {
        errno = ENOENT;
        return NULL;
    }
    FILE *stream = _wfopen(wide, mode);
    int failure = errno;
    free(wide);
    errno = failure;
    return stream;
}

/** Of a device only opening it says so. */
bool file_is_there(const char *path) {
    FILE *stream = file_open(path);
    if (stream != NULL) {
        fclose(stream);
    }
    return stream != NULL;
}

FILE *file_open(const char *path) {
    return open_as(path, L"rb");
}

FILE *file_open_own(const char *path) {
    return file_open(path);
}

FILE *file_create(const char *path) {
    return open_as(path, L"wb");
}

int file_close_kept(FILE *stream, const char *path) {
    int failure = fflush(stream) != 0 || _commit(_fileno(stream)) != 0 ? -errno : 0;
    failure = fclose(stream) != 0 && failure == 0 ? -errno : failure;
    (void)path; /* NTFS keeps names in its log. */
    return failure;
}

int file_delete(const char *path) {
    wchar_t *wide = windows_path(path);
    bool is_gone = wide != NULL && (DeleteFileW(wide) || RemoveDirectoryW(wide));
    int failure = is_gone ? 0 : -windows_errno(GetLastError());
    free(wide);
    return failure;
}

const char *file_temporary_folder(const char *home) {
    return home;
}

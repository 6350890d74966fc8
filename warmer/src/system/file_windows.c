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

FILE *file_open(const char *path) {
    return open_as(path, L"rb");
}

FILE *file_create(const char *path) {
    return open_as(path, L"wb");
}

/** NTFS keeps names in its log. */
int file_keep_name(const char *path) {
    (void)path;
    return 0;
}

int file_close_kept(FILE *stream, const char *path) {
    int failure = fflush(stream) != 0 || _commit(_fileno(stream)) != 0 ? -errno : 0;
    failure = fclose(stream) != 0 && failure == 0 ? -errno : failure;
    return failure == 0 ? file_keep_name(path) : failure;
}

int file_make_folder(const char *path) {
    wchar_t *wide = windows_path(path);
    bool is_made = wide != NULL && CreateDirectoryW(wide, NULL);
    DWORD error = GetLastError();
    free(wide);
    return is_made ? 0 : error == ERROR_ALREADY_EXISTS ? -EEXIST : -windows_errno(error);
}

int file_take_folder(const char *path) {
    (void)path;
    return 0;
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

#include "system/windows_error.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <windows.h>

struct pair {
    uint32_t error;
    int number;
};

/** Temporary errors must keep their own errno: warm_account.c repeats EBUSY, ENOMEM and the like. */
static const struct pair pairs[] = {
    {ERROR_INVALID_FUNCTION, ENOSYS},
    {ERROR_NOT_SUPPORTED, ENOSYS},
    {ERROR_CALL_NOT_IMPLEMENTED, ENOSYS},
    {ERROR_FILE_NOT_FOUND, ENOENT},
    {ERROR_PATH_NOT_FOUND, ENOENT},
    {ERROR_INVALID_NAME, ENOENT},
    {ERROR_BAD_PATHNAME, ENOENT},
    {ERROR_TOO_MANY_OPEN_FILES, EMFILE},
    {ERROR_ACCESS_DENIED, EACCES},
    {ERROR_PRIVILEGE_NOT_HELD, EPERM},
    {ERROR_WRITE_PROTECT, EROFS},
    {ERROR_DISK_FULL, ENOSPC},
    {ERROR_DIR_NOT_EMPTY, ENOTEMPTY},
    {ERROR_INVALID_PARAMETER, EINVAL},
    {ERROR_NOT_ENOUGH_MEMORY, ENOMEM},
    {ERROR_OUTOFMEMORY, ENOMEM},
    {ERROR_NO_SYSTEM_RESOURCES, ENOMEM},
    {ERROR_NONPAGED_SYSTEM_RESOURCES, ENOMEM},
    {ERROR_PAGED_SYSTEM_RESOURCES, ENOMEM},
    {ERROR_WORKING_SET_QUOTA, ENOMEM},
    {ERROR_NOT_ENOUGH_QUOTA, ENOMEM},
    {ERROR_COMMITMENT_LIMIT, ENOMEM},
    {ERROR_BUSY, EBUSY},
    {ERROR_SHARING_VIOLATION, EBUSY},
    {ERROR_LOCK_VIOLATION, EBUSY},
    {ERROR_RETRY, EAGAIN},
    {ERROR_SEM_TIMEOUT, ETIMEDOUT},
    {ERROR_TIMEOUT, ETIMEDOUT},
    {ERROR_OPERATION_ABORTED, ECANCELED},
    {ERROR_BAD_UNIT, ENXIO},
    {ERROR_NOT_READY, ENXIO},
    {ERROR_DEV_NOT_EXIST, ENXIO},
    {ERROR_DEVICE_NOT_CONNECTED, ENXIO},
    {ERROR_DEVICE_REMOVED, ENXIO},
    {ERROR_NO_SUCH_DEVICE, ENXIO},
    {ERROR_DEVICE_NOT_AVAILABLE, ENXIO},
    {ERROR_DEVICE_UNREACHABLE, ENXIO},
    {ERROR_NO_MEDIA_IN_DRIVE, ENXIO},
    {ERROR_FILE_INVALID, ENXIO},
};

int windows_errno(uint32_t error) {
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        if (pairs[i].error == error) {
            return pairs[i].number;
        }
    }
    return EIO;
}

wchar_t *windows_path(const char *path) {
    int length = MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, path, -1, NULL, 0);
    wchar_t *wide = length > 0 ? calloc((size_t)length, sizeof *wide) : NULL;
    if (wide != NULL) {
        MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, path, -1, wide, length);
    }
    return wide;
}

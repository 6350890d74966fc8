#ifndef WARMER_WINDOWS_ERROR_H
#define WARMER_WINDOWS_ERROR_H

#include <stdint.h>
#include <wchar.h>

/** The errno for an error code of GetLastError; EIO if there is no such errno. */
int windows_errno(uint32_t error);

/** The path in UTF-16; the caller frees it. Returns NULL when memory is short or `path` is not UTF-8. */
wchar_t *windows_path(const char *path);

#endif

#ifndef WARMER_WINDOWS_ERROR_H
#define WARMER_WINDOWS_ERROR_H

#include <stdint.h>
#include <wchar.h>

/** The errno that says the same as an error of GetLastError; EIO where none does. */
int windows_errno(uint32_t error);

/** UTF-16 of a UTF-8 path, to free; NULL when memory is short or it is no UTF-8. */
wchar_t *windows_path(const char *path);

#endif

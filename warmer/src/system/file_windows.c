#include "system/file.h"

#include "system/windows_error.h"

#include <errno.h>
#include <stdlib.h>

FILE *file_open(const char *path) {
    wchar_t *wide = windows_path(path);
    if (wide == NULL) {
        errno = ENOENT;
        return NULL;
    }
    FILE *stream = _wfopen(wide, L"rb");
    int failure = errno;
    free(wide);
    errno = failure;
    return stream;
}

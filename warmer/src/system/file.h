#ifndef WARMER_FILE_H
#define WARMER_FILE_H

#include <stdio.h>

/** Open a file to read its bytes; the path is UTF-8 on Windows. NULL and errno when that fails. */
FILE *file_open(const char *path);

#endif

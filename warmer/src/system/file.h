#ifndef WARMER_FILE_H
#define WARMER_FILE_H

#include <stdio.h>

/** Open a file for reading bytes. The path is UTF-8 on Windows. Returns NULL with errno set on failure. */
FILE *file_open(const char *path);

#endif

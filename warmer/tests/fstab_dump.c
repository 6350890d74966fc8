/**
 * fstab_dump FILE: what mount_tables.c reads of an fstab, for the command-line tests: source, target, type
 * and options of each line, each with a NUL at its end.
 */
#include "mount/mount_tables.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int count, char **arguments) {
    char *text = NULL;
    size_t size = 0;
    struct fstab_line line;
    FILE *stream = count == 2 ? fopen(arguments[1], "re") : NULL;
    while (stream != NULL && getline(&text, &size, stream) >= 0) {
        if (fstab_parse(text, &line)) {
            const char *fields[] = {line.source, line.target, line.type, line.options};
            for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
                fwrite(fields[i], 1, strlen(fields[i]) + 1, stdout);
            }
        }
    }
    free(text);
    return stream == NULL;
}

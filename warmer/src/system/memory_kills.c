#include "system/memory_kills.h"

#include <inttypes.h>
#include <stdio.h>

uint64_t memory_kills(const char *path) {
    FILE *stream = fopen(path, "r");
    char line[256];
    uint64_t count = 0;
    while (stream != NULL && fgets(line, sizeof line, stream) != NULL) {
        if (sscanf(line, "oom_kill %" SCNu64, &count) == 1) {
            break;
        }
    }
    if (stream != NULL) {
        fclose(stream);
    }
    return count;
}

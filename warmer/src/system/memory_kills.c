#include "system/memory_kills.h"

#include "base/number.h"

#include <stdio.h>

uint64_t memory_kills(const char *path) {
    FILE *stream = fopen(path, "r");
    char line[256];
    uint64_t count = 0;
    while (stream != NULL && fgets(line, sizeof line, stream) != NULL) {
        if (number_take_after(line, "oom_kill ", UINT64_MAX, &count) != NULL) {
            break;
        }
    }
    if (stream != NULL) {
        fclose(stream);
    }
    return count;
}

/** Runs a fuzz target over the files given as arguments: one "ok" line when it survives them all. */
#include "fuzz_target.h"

#include <stdio.h>
#include <stdlib.h>

static int replay(const char *path) {
    FILE *file = fopen(path, "rb");
    if (file == NULL || fseek(file, 0, SEEK_END) != 0) {
        return 1;
    }
    long end = ftell(file);
    size_t bytes = end > 0 ? (size_t)end : 0;
    /* Exactly as long as the input, so that a sanitizer sees a read beyond it. */
    uint8_t *data = malloc(bytes == 0 ? 1 : bytes);
    rewind(file);
    int failure = data == NULL || fread(data, 1, bytes, file) != bytes;
    if (failure == 0) {
        failure = LLVMFuzzerTestOneInput(data, bytes);
    }
    free(data);
    fclose(file);
    return failure;
}

int main(int count, char **arguments) {
    int failures = count < 2;
    for (int i = 1; i < count; i++) {
        failures += replay(arguments[i]) != 0;
    }
    printf("%s corpus_of_%d_inputs\n", failures == 0 ? "ok" : "not ok", count - 1);
    return failures == 0 ? 0 : 1;
}

/** Histograms of the kernel: whatever lines say, the blocks are the device's and no more than are allowed. */
#include "fuzz_target.h"
#include "observe/histogram.h"

#include <stdlib.h>
#include <string.h>

#define MOST_BLOCKS 16u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    struct recording *recording = recording_create(UINT64_C(1) << 30, MOST_BLOCKS);
    struct recording_facts facts = {.volume_id = "", .source = "histogram"};
    struct histogram histogram = {.recording = recording};
    char *text = malloc(bytes + 1);
    char *written = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&written, &size);
    if (text == NULL || recording == NULL || stream == NULL) {
        abort();
    }
    if (bytes > 0) {
        memcpy(text, data, bytes);
    }
    text[bytes] = '\0';
    for (char *line = text; line != NULL;) {
        char *end = strchr(line, '\n');
        if (end != NULL) {
            *end++ = '\0';
        }
        histogram_take(&histogram, line);
        line = end;
    }
    if (recording_blocks(recording) > MOST_BLOCKS || recording_write(recording, &facts, stream) != 0) {
        abort();
    }
    fclose(stream);
    for (char *line = strchr(written, '\n'); line[1] != '\0'; line = strchr(line + 1, '\n')) {
        if (strtoull(line + 1, NULL, 10) >= 2048) {
            abort();
        }
    }
    free(written);
    free(text);
    recording_destroy(recording);
    return 0;
}

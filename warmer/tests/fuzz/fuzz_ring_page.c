/** Pages of the kernel's ring buffer, behind the texts of their formats, which end with zero bytes. */
#include "fuzz_target.h"
#include "observe/recording.h"
#include "observe/ring_page.h"

#include <stdlib.h>
#include <string.h>

#define MOST_BLOCKS 16u

static void note(void *context, uint64_t time_ns, uint64_t sector, uint32_t sectors) {
    recording_add_read(context, sector, sectors, time_ns);
}

/** A text of the input, which is empty at the input's end. */
static char *take_text(const uint8_t **data, size_t *bytes) {
    const uint8_t *end = *bytes == 0 ? NULL : memchr(*data, 0, *bytes);
    size_t length = end == NULL ? *bytes : (size_t)(end - *data);
    char *text = calloc(1, length + 1);
    if (text == NULL) {
        abort();
    }
    if (length > 0) {
        memcpy(text, *data, length);
    }
    *data += end == NULL ? length : length + 1;
    *bytes -= end == NULL ? length : length + 1;
    return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    struct ring_format format = {0};
    char *event = take_text(&data, &bytes);
    char *header = take_text(&data, &bytes);
    uint8_t *page = malloc(bytes + 1);
    struct recording *recording = recording_create(UINT64_C(1) << 30, MOST_BLOCKS);
    if (page == NULL || recording == NULL) {
        abort();
    }
    if (bytes > 0) {
        memcpy(page, data, bytes);
    }
    if (ring_format_parse(event, header, &format)) {
        (void)ring_page_read(&format, page, bytes, note, recording);
    }
    if (recording_blocks(recording) > MOST_BLOCKS) {
        abort();
    }
    recording_destroy(recording);
    free(page);
    free(header);
    free(event);
    return 0;
}

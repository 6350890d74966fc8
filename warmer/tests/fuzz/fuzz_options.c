/** Command lines: arguments are separated by newlines. */
#include "commands/options.h"
#include "fuzz_target.h"

#include <stdlib.h>
#include <string.h>

#define MAX_ARGUMENTS 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    char *arguments[MAX_ARGUMENTS + 1] = {NULL};
    char *text = malloc(bytes + 1);
    int count = 0;
    if (text == NULL) {
        return 0;
    }
    if (bytes > 0) {
        memcpy(text, data, bytes);
    }
    text[bytes] = '\0';
    for (char *at = text; at != NULL && count < MAX_ARGUMENTS;) {
        arguments[count++] = at;
        at = strchr(at, '\n');
        if (at != NULL) {
            *at++ = '\0';
        }
    }
    struct options options;
    struct diag diag = {{0}};
    int failure = options_parse(count, arguments, &options, &diag);
    if ((failure == 0) != (diag.text[0] == '\0')) {
        abort();
    }
    free(text);
    return 0;
}

#include "base/texts.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool texts_has(const struct texts *texts, const char *text) {
    for (size_t i = 0; i < texts->count; i++) {
        if (strcmp(texts->items[i], text) == 0) {
            return true;
        }
    }
    return false;
}

void texts_add(struct texts *texts, const char *format, ...) {
    char text[TEXT_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (texts->count < TEXTS_LIMIT && !texts_has(texts, text)) {
        memcpy(texts->items[texts->count++], text, sizeof text);
    }
}

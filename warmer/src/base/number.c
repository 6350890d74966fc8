#include "base/number.h"

#include <stddef.h>
#include <string.h>

const char *number_take(const char *text, uint64_t most, uint64_t *number) {
    const char *at = text;
    uint64_t value = 0;
    for (; *at >= '0' && *at <= '9'; at++) {
        uint64_t digit = (uint64_t)(*at - '0');
        if (digit > most || value > (most - digit) / 10) {
            return NULL;
        }
        value = value * 10 + digit;
    }
    if (at == text) {
        return NULL;
    }
    *number = value;
    return at;
}

const char *number_take_after(const char *text, const char *before, uint64_t most, uint64_t *number) {
    size_t length = strlen(before);
    return text != NULL && strncmp(text, before, length) == 0 ? number_take(text + length, most, number)
                                                              : NULL;
}

#include "device/identity.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/** Length of the hexadecimal run at `text`. */
static size_t hex_length(const char *text) {
    size_t length = 0;
    while (isdigit((unsigned char)text[length]) || (text[length] >= 'a' && text[length] <= 'f')) {
        length++;
    }
    return length;
}

bool identity_volume_id(const char *text, char *volume_id, uint32_t size) {
    for (const char *at = strstr(text, "vol"); at != NULL; at = strstr(at + 1, "vol")) {
        const char *digits = at[3] == '-' ? at + 4 : at + 3;
        size_t length = hex_length(digits);
        if (length == 17 || length == 8) {
            snprintf(volume_id, size, "vol-%.*s", (int)length, digits);
            return true;
        }
    }
    return false;
}

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

/** The serial number that stands as digits in a name of udev's without words: nvme.1d0f-766f6c…; empty: none.
 */
static void decode_serial(const char *text, char *serial, uint32_t size) {
    const char *digits = strstr(text, "nvme.1d0f-");
    uint32_t length = 0;
    unsigned letter = 0;
    for (digits = digits == NULL ? "" : digits + strlen("nvme.1d0f-");
         length + 1 < size && hex_length(digits) >= 2 && sscanf(digits, "%2x", &letter) == 1; digits += 2) {
        serial[length++] = (char)letter;
    }
    serial[length] = '\0';
}

bool identity_volume_id(const char *text, char *volume_id, uint32_t size) {
    char serial[64];
    decode_serial(text, serial, sizeof serial);
    text = serial[0] == '\0' ? text : serial;
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

int identity_confirm(const struct identity *identity, const char *path, const char *volume_id,
                     struct diag *diag) {
    bool is_other =
        volume_id != NULL && identity->volume_id[0] != '\0' && strcmp(identity->volume_id, volume_id) != 0;
    return is_other ? diag_refuse(diag, WARMER_WRONG_VOLUME, "%s is %s and not %s", path, identity->volume_id,
                                  volume_id)
                    : 0;
}

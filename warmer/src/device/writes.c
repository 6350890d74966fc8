/** Counts of a device's writes, as a text and compared. */
#include "device/writes.h"

#include <string.h>

#define BOOT_ID_LENGTH 36u
#define SECTOR_BYTES 512u

bool writes_are_equal(const struct writes *one, const struct writes *other) {
    return one->is_counted && other->is_counted && one->boot_id[0] != '\0' &&
           strcmp(one->boot_id, other->boot_id) == 0 && one->sectors == other->sectors &&
           one->requests == other->requests && one->sequence == other->sequence;
}

bool writes_between(const struct writes *before, const struct writes *after, uint64_t *bytes) {
    *bytes = (after->sectors - before->sectors) * SECTOR_BYTES;
    return before->has_counts && after->has_counts && before->sectors <= after->sectors &&
           before->requests <= after->requests && before->sequence == after->sequence;
}

/** A comma and a number; NULL: something else. */
static const char *take_number(const char *text, uint64_t *number) {
    *number = 0;
    if (*text != ',' || text[1] < '0' || text[1] > '9') {
        return NULL;
    }
    for (text++; *text >= '0' && *text <= '9'; text++) {
        unsigned digit = (unsigned)(*text - '0');
        if (*number > (UINT64_MAX - digit) / 10) {
            return NULL;
        }
        *number = *number * 10 + digit;
    }
    return text;
}

bool writes_parse(const char *text, struct writes *writes) {
    *writes = (struct writes){.has_counts = true, .is_counted = true};
    if (strspn(text, "0123456789abcdef-") != BOOT_ID_LENGTH) {
        return false;
    }
    memcpy(writes->boot_id, text, BOOT_ID_LENGTH);
    const char *rest = take_number(text + BOOT_ID_LENGTH, &writes->sectors);
    rest = rest == NULL ? NULL : take_number(rest, &writes->requests);
    rest = rest == NULL ? NULL : take_number(rest, &writes->sequence);
    return rest != NULL && *rest == '\0';
}

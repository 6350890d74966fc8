/** Which drive letter or folder a disk's volume gets; what Windows does for that is the table's. */
#include "device/mount_point.h"

#include <ctype.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define LETTER_LENGTH 3u /**< E:\ */

bool mount_point_is_valid(const char *text) {
    return isalpha((unsigned char)text[0]) && text[1] == ':' && (text[2] == '\0' || text[2] == '\\') &&
           strlen(text) < TEXT_BYTES - 1 && strpbrk(text + 2, "/:*?\"<>|") == NULL;
}

static bool is_same(const char *one, const char *other) {
    while (*one != '\0' && tolower((unsigned char)*one) == tolower((unsigned char)*other)) {
        one++;
        other++;
    }
    return *one == *other;
}

static bool has_point(const struct texts *points, const char *wished) {
    for (size_t i = 0; i < points->count; i++) {
        if (is_same(points->items[i], wished)) {
            return true;
        }
    }
    return false;
}

/** The drive letter among a volume's points; NULL where it has none. */
static const char *letter_of(const struct texts *points) {
    for (size_t i = 0; i < points->count; i++) {
        if (strlen(points->items[i]) == LETTER_LENGTH) {
            return points->items[i];
        }
    }
    return NULL;
}

static int give(const struct mount_table *table, const char *volume, const char *wished, const char *letter,
                struct diag *diag) {
    int failure = letter == NULL ? 0 : table->remove(table->context, letter);
    if (failure != 0) {
        return diag_refuse(diag, WARMER_CANNOT_OPEN, "cannot take %s away: %s", letter, strerror(failure));
    }
    failure = table->add(table->context, wished, volume);
    if (failure == 0) {
        return 0;
    }
    if (letter != NULL && table->add(table->context, letter, volume) != 0) {
        return diag_refuse(diag, WARMER_CANNOT_OPEN, "cannot mount the volume at %s: %s; it has lost %s",
                           wished, strerror(failure), letter);
    }
    return diag_refuse(diag, WARMER_CANNOT_OPEN, "cannot mount the volume at %s: %s", wished,
                       strerror(failure));
}

int mount_point_give(const struct mount_table *table, const char *wished, struct diag *diag) {
    static struct texts volumes;
    static struct texts points;
    char point[TEXT_BYTES];
    volumes.count = points.count = 0;
    snprintf(point, sizeof point, "%s%s", wished, wished[strlen(wished) - 1] == '\\' ? "" : "\\");
    table->find_volumes(table->context, &volumes);
    for (size_t i = 0; i < volumes.count; i++) {
        table->find_points(table->context, volumes.items[i], &points);
    }
    if (has_point(&points, point)) {
        return 0;
    }
    if (volumes.count != 1) {
        return diag_refuse(diag, WARMER_CANNOT_OPEN,
                           "cannot mount the disk at %s: Windows shows %zu volumes on it, and needs one",
                           point, volumes.count);
    }
    bool is_letter = strlen(point) == LETTER_LENGTH;
    return give(table, volumes.items[0], point, is_letter ? letter_of(&points) : NULL, diag);
}

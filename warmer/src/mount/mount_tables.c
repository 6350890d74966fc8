/**
 * The tables of mounts: fstab as libmount reads it (its tab_parse.c), and mountinfo (proc(5)). In both,
 * blanks and other letters of a path are written as a backslash and three octal digits.
 */
#include "mount/mount_tables.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLANKS " \t"

static bool is_octal(char digit) {
    return digit >= '0' && digit <= '7';
}

static void decode(char *text) {
    char *plain = text;
    for (; *text != '\0'; plain++) {
        if (text[0] == '\\' && is_octal(text[1]) && is_octal(text[2]) && is_octal(text[3])) {
            *plain = (char)((text[1] - '0') * 64 + (text[2] - '0') * 8 + (text[3] - '0'));
            text += 4;
        } else {
            *plain = *text++;
        }
    }
    *plain = '\0';
}

void udev_decode(char *text) {
    char *plain = text;
    for (; *text != '\0'; plain++) {
        unsigned letter = 0;
        if (text[0] == '\\' && text[1] == 'x' && sscanf(text + 2, "%2x", &letter) == 1 && text[3] != '\0') {
            *plain = (char)letter;
            text += 4;
        } else {
            *plain = *text++;
        }
    }
    *plain = '\0';
}

/** Cut off the next field, decoded; NULL: there is none. */
static char *next_field(char **rest) {
    char *field = *rest + strspn(*rest, BLANKS);
    char *end = field + strcspn(field, BLANKS);
    *rest = *end == '\0' ? end : end + 1;
    *end = '\0';
    if (*field == '\0') {
        return NULL;
    }
    decode(field);
    return field;
}

bool path_make_plain(char *path) {
    char *plain = path;
    char *at = path;
    if (*path != '/') {
        return false;
    }
    while (*at != '\0') {
        size_t length = strcspn(at, "/");
        if (length == 2 && at[0] == '.' && at[1] == '.') {
            return false;
        }
        bool is_nothing = length == 0 || (length == 1 && at[0] == '.');
        if (!is_nothing) {
            *plain++ = '/';
            memmove(plain, at, length);
            plain += length;
        }
        at += length + (at[length] == '/');
    }
    if (plain == path) {
        *plain++ = '/';
    }
    *plain = '\0';
    for (const char *letter = path; *letter != '\0'; letter++) {
        if ((unsigned char)*letter < ' ' || *letter == 0x7f) {
            return false;
        }
    }
    return true;
}

bool path_is_below(const char *path, const char *folder) {
    size_t length = strcmp(folder, "/") == 0 ? 0 : strlen(folder);
    return strncmp(path, folder, length) == 0 && path[length] == '/' && path[length + 1] != '\0';
}

/** Take quotes away from the value of NAME="value"; both kinds are taken, in pairs (blkid_parse_tag_string).
 */
static void take_quotes(char *source) {
    char *value = strchr(source, '=');
    size_t length = value == NULL ? 0 : strlen(++value);
    if (source[0] != '/' && length >= 2 && (value[0] == '"' || value[0] == '\'') &&
        value[length - 1] == value[0]) {
        memmove(value, value + 1, length - 2);
        value[length - 2] = '\0';
    }
}

/** Whether what stands behind the options may stand there: numbers, or nothing. */
static bool ends_well(char *rest) {
    for (unsigned i = 0; i < 2; i++) {
        char *field = next_field(&rest);
        char *end = field;
        if (field == NULL) {
            return true;
        }
        (void)strtol(field, &end, 10);
        if (*end != '\0') {
            return false;
        }
    }
    return true;
}

bool fstab_parse(char *line, struct fstab_line *found) {
    line[strcspn(line, "\n")] = '\0';
    size_t length = strlen(line);
    if (length > 0 && line[length - 1] == '\r') {
        line[length - 1] = '\0';
    }
    char *rest = line + strspn(line, BLANKS);
    if (*rest == '\0' || *rest == '#') {
        return false;
    }
    static char none[] = "";
    *found = (struct fstab_line){0};
    found->source = next_field(&rest);
    found->target = next_field(&rest);
    found->type = next_field(&rest);
    found->options = next_field(&rest);
    if (found->type == NULL || !ends_well(rest)) {
        return false;
    }
    found->options = found->options == NULL ? none : found->options;
    take_quotes(found->source);
    return path_make_plain(found->target);
}

/** Fields such as shared:7, up to the one that is a dash. */
static bool take_groups(char **rest, struct mount_line *found) {
    for (char *field = next_field(rest); field != NULL; field = next_field(rest)) {
        if (strcmp(field, "-") == 0) {
            return true;
        }
        (void)sscanf(field, "shared:%u", &found->group);
        (void)sscanf(field, "master:%u", &found->master);
    }
    return false;
}

bool mountinfo_parse(char *line, struct mount_line *found) {
    int end = 0;
    line[strcspn(line, "\n")] = '\0';
    *found = (struct mount_line){0};
    if (sscanf(line, "%u %u %u:%u%n", &found->id, &found->parent, &found->major, &found->minor, &end) != 4) {
        return false;
    }
    char *rest = line + end;
    found->root = next_field(&rest);
    found->point = next_field(&rest);
    if (next_field(&rest) == NULL || !take_groups(&rest, found)) {
        return false;
    }
    found->type = next_field(&rest);
    found->source = next_field(&rest);
    found->options = next_field(&rest);
    return found->type != NULL;
}

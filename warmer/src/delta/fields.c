/** The lines of manifests and of packs' indexes: one flat JSON object each, parsed in its place. */
#include "delta/fields.h"

#include <string.h>

struct cursor {
    char *at;
    char *end;
};

static void skip_blanks(struct cursor *cursor) {
    while (cursor->at < cursor->end && (*cursor->at == ' ' || *cursor->at == '\t' || *cursor->at == '\r')) {
        cursor->at++;
    }
}

static bool take(struct cursor *cursor, char wanted) {
    skip_blanks(cursor);
    bool is_there = cursor->at < cursor->end && *cursor->at == wanted;
    cursor->at += is_there ? 1 : 0;
    return is_there;
}

/** The value of four hexadecimal digits below 128, or -1. */
static int escaped_ascii(const char *digits) {
    int value = 0;
    for (unsigned i = 0; i < 4; i++) {
        const char *all = "0123456789abcdef0123456789ABCDEF";
        const char *found = digits[i] == '\0' ? NULL : strchr(all, digits[i]);
        if (found == NULL) {
            return -1;
        }
        value = value * 16 + (int)((found - all) % 16);
    }
    return value >= 0x20 && value < 0x7f ? value : -1;
}

/** One character of a text, after an escape or not; -1 if it is not allowed. */
static int take_character(struct cursor *cursor) {
    char first = *cursor->at++;
    if (first != '\\') {
        return first >= 0x20 && first < 0x7f ? first : -1;
    }
    if (cursor->at >= cursor->end) {
        return -1;
    }
    char second = *cursor->at++;
    if (second == '"' || second == '\\' || second == '/') {
        return second;
    }
    if (second != 'u' || cursor->end - cursor->at < 4) {
        return -1;
    }
    cursor->at += 4;
    return escaped_ascii(cursor->at - 4);
}

/** A text, which never grows by its escapes, so that it is written over itself. */
static const char *take_text(struct cursor *cursor) {
    if (!take(cursor, '"')) {
        return NULL;
    }
    char *begin = cursor->at;
    char *to = begin;
    while (cursor->at < cursor->end && *cursor->at != '"') {
        int character = take_character(cursor);
        if (character < 0) {
            return NULL;
        }
        *to++ = (char)character;
    }
    if (cursor->at >= cursor->end) {
        return NULL;
    }
    cursor->at++;
    *to = '\0';
    return begin;
}

static bool take_number(struct cursor *cursor, uint64_t *number) {
    const char *begin = cursor->at;
    *number = 0;
    for (; cursor->at < cursor->end && *cursor->at >= '0' && *cursor->at <= '9'; cursor->at++) {
        unsigned digit = (unsigned)(*cursor->at - '0');
        if (*number > (UINT64_MAX - digit) / 10) {
            return false;
        }
        *number = *number * 10 + digit;
    }
    return cursor->at > begin && (*begin != '0' || cursor->at == begin + 1);
}

static bool take_word(struct cursor *cursor, const char *word) {
    size_t length = strlen(word);
    if ((size_t)(cursor->end - cursor->at) < length || memcmp(cursor->at, word, length) != 0) {
        return false;
    }
    cursor->at += length;
    return true;
}

static bool take_value(struct cursor *cursor, struct field *field) {
    skip_blanks(cursor);
    if (cursor->at >= cursor->end) {
        return false;
    }
    if (*cursor->at == '"') {
        field->kind = FIELD_TEXT;
        field->text = take_text(cursor);
        return field->text != NULL;
    }
    if (take_word(cursor, "true")) {
        field->kind = FIELD_TRUE;
        return true;
    }
    if (take_word(cursor, "null")) {
        field->kind = FIELD_NULL;
        return true;
    }
    field->kind = FIELD_NUMBER;
    return take_number(cursor, &field->number);
}

static const struct field *find(const struct fields *fields, const char *name) {
    for (unsigned i = 0; i < fields->count; i++) {
        if (strcmp(fields->items[i].name, name) == 0) {
            return &fields->items[i];
        }
    }
    return NULL;
}

static bool take_member(struct cursor *cursor, struct fields *fields) {
    struct field field = {0};
    field.name = take_text(cursor);
    if (field.name == NULL || fields->count == FIELDS_LIMIT || find(fields, field.name) != NULL ||
        !take(cursor, ':') || !take_value(cursor, &field)) {
        return false;
    }
    fields->items[fields->count++] = field;
    return true;
}

bool fields_read(char *line, size_t length, struct fields *fields) {
    struct cursor cursor = {line, line + length};
    *fields = (struct fields){.count = 0};
    if (!take(&cursor, '{') || !take_member(&cursor, fields)) {
        return false;
    }
    while (take(&cursor, ',')) {
        if (!take_member(&cursor, fields)) {
            return false;
        }
    }
    if (!take(&cursor, '}')) {
        return false;
    }
    skip_blanks(&cursor);
    return cursor.at == cursor.end;
}

bool fields_has(const struct fields *fields, const char *name) {
    return find(fields, name) != NULL;
}

static const struct field *take_field(struct fields *fields, const char *name, enum field_kind kind) {
    const struct field *field = find(fields, name);
    if (field == NULL || field->kind != kind) {
        return NULL;
    }
    fields->used++;
    return field;
}

bool fields_text(struct fields *fields, const char *name, const char **text) {
    const struct field *field = take_field(fields, name, FIELD_TEXT);
    *text = field == NULL ? "" : field->text;
    return field != NULL;
}

bool fields_number(struct fields *fields, const char *name, uint64_t *number) {
    const struct field *field = take_field(fields, name, FIELD_NUMBER);
    *number = field == NULL ? 0 : field->number;
    return field != NULL;
}

bool fields_true(struct fields *fields, const char *name) {
    return take_field(fields, name, FIELD_TRUE) != NULL;
}

bool fields_text_or_null(struct fields *fields, const char *name, const char **text) {
    *text = NULL;
    return take_field(fields, name, FIELD_NULL) != NULL || fields_text(fields, name, text);
}

bool fields_all_used(const struct fields *fields) {
    return fields->used == fields->count;
}

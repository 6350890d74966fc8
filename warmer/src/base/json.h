#ifndef WARMER_JSON_H
#define WARMER_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/** Writes one JSON value on one line, with the commas. */
struct json {
    FILE *stream;
    bool needs_comma;
};

/** Open or close an object or array; `key` is NULL inside an array and at the top. */
void json_open(struct json *json, const char *key, char bracket);
void json_close(struct json *json, char bracket);

/** Write a member of an object, or with a NULL key an element of an array. */
void json_text(struct json *json, const char *key, const char *value);
void json_unsigned(struct json *json, const char *key, uint64_t value);
void json_bool(struct json *json, const char *key, bool value);
void json_null(struct json *json, const char *key);

/** Write the text, or null if it is empty. */
void json_text_or_null(struct json *json, const char *key, const char *value);

/** Write the number with three decimals, or null if it is not finite. */
void json_number(struct json *json, const char *key, double value);

/** End the line and flush the stream. */
void json_end_line(struct json *json);

#endif

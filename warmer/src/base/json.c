#include "base/json.h"

#include <inttypes.h>
#include <math.h>

static void put_quoted(FILE *stream, const char *text) {
    fputc('"', stream);
    for (const unsigned char *at = (const unsigned char *)text; *at != '\0'; at++) {
        if (*at == '"' || *at == '\\') {
            fprintf(stream, "\\%c", *at);
        } else if (*at < 0x20 || *at > 0x7e) {
            /* Paths are bytes, not text: one escape a byte keeps the line valid JSON whatever they hold. */
            fprintf(stream, "\\u%04x", *at);
        } else {
            fputc(*at, stream);
        }
    }
    fputc('"', stream);
}

static void begin_value(struct json *json, const char *key) {
    if (json->needs_comma) {
        fputc(',', json->stream);
    }
    json->needs_comma = true;
    if (key != NULL) {
        put_quoted(json->stream, key);
        fputc(':', json->stream);
    }
}

void json_open(struct json *json, const char *key, char bracket) {
    begin_value(json, key);
    fputc(bracket, json->stream);
    json->needs_comma = false;
}

void json_close(struct json *json, char bracket) {
    fputc(bracket, json->stream);
    json->needs_comma = true;
}

void json_text(struct json *json, const char *key, const char *value) {
    begin_value(json, key);
    put_quoted(json->stream, value);
}

void json_unsigned(struct json *json, const char *key, uint64_t value) {
    begin_value(json, key);
    fprintf(json->stream, "%" PRIu64, value);
}

void json_bool(struct json *json, const char *key, bool value) {
    begin_value(json, key);
    fputs(value ? "true" : "false", json->stream);
}

void json_null(struct json *json, const char *key) {
    begin_value(json, key);
    fputs("null", json->stream);
}

void json_text_or_null(struct json *json, const char *key, const char *value) {
    if (*value == '\0') {
        json_null(json, key);
    } else {
        json_text(json, key, value);
    }
}

void json_number(struct json *json, const char *key, double value) {
    if (!isfinite(value)) {
        json_null(json, key);
        return;
    }
    begin_value(json, key);
    fprintf(json->stream, "%.3f", value);
}

void json_end_line(struct json *json) {
    fputc('\n', json->stream);
    fflush(json->stream);
    json->needs_comma = false;
}

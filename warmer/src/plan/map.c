/**
 * Extent lists: text, one `start count` a line, decimal, in blocks of 512 KiB.
 *
 * Everything else is refused with the line's number: an agent that guesses what a damaged map meant would
 * leave blocks cold and call the volume warm.
 */
#include "plan/map.h"

#include "system/file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define READ_BYTES 262144u

void map_parser_init(struct map_parser *parser, uint64_t device_blocks, enum map_order order, map_sink *sink,
                     void *context) {
    *parser = (struct map_parser){
        .device_blocks = device_blocks, .order = order, .sink = sink, .context = context, .line = 1};
}

static int refuse(const struct map_parser *parser, struct diag *diag, const char *reason) {
    return diag_refuse(diag, WARMER_USAGE, "line %" PRIu64 ": %s", parser->line, reason);
}

/** Checks that need both numbers. */
static int check_extent(const struct map_parser *parser, struct diag *diag) {
    uint64_t start = parser->values[0];
    uint64_t count = parser->values[1];
    if (count == 0) {
        return refuse(parser, diag, "count is 0");
    }
    if (parser->order == MAP_ASCENDING && start < parser->end) {
        return diag_refuse(diag, WARMER_USAGE,
                           "line %" PRIu64 ": block %" PRIu64 " comes before block %" PRIu64
                           ", where the previous extent ends (extents must be ascending and disjoint)",
                           parser->line, start, parser->end);
    }
    if (start >= parser->device_blocks || count > parser->device_blocks - start) {
        return diag_refuse(diag, WARMER_USAGE,
                           "line %" PRIu64 ": extent %" PRIu64 " %" PRIu64
                           " reaches beyond the device, which has %" PRIu64 " blocks",
                           parser->line, start, count, parser->device_blocks);
    }
    return 0;
}

static int end_line(struct map_parser *parser, struct diag *diag) {
    if (parser->digits[0] == 0) {
        return refuse(parser, diag, "empty line");
    }
    if (parser->digits[1] == 0) {
        return refuse(parser, diag, "count is missing");
    }
    int failure = check_extent(parser, diag);
    if (failure != 0) {
        return failure;
    }
    if (parser->sink(parser->context, parser->values[0], parser->values[1]) != 0) {
        return refuse(parser, diag, "out of memory");
    }
    parser->end = parser->values[0] + parser->values[1];
    parser->line++;
    parser->field = 0;
    parser->digits[0] = parser->digits[1] = 0;
    parser->values[0] = parser->values[1] = 0;
    return 0;
}

static int take_digit(struct map_parser *parser, unsigned digit, struct diag *diag) {
    uint64_t *value = &parser->values[parser->field];
    if (*value > (UINT64_MAX - digit) / 10) {
        return refuse(parser, diag, "number is too large");
    }
    *value = *value * 10 + digit;
    parser->digits[parser->field]++;
    return 0;
}

/** Take digits for as long as no number of so many can be too large; how many that were. */
static size_t take_digits(struct map_parser *parser, const char *text, size_t length) {
    uint64_t value = parser->values[parser->field];
    size_t count = 0;
    for (; count < length && value < UINT64_MAX / 16; count++) {
        unsigned digit = (unsigned)(unsigned char)text[count] - '0';
        if (digit > 9) {
            break;
        }
        value = value * 10 + digit;
    }
    parser->values[parser->field] = value;
    parser->digits[parser->field] += (unsigned)count;
    return count;
}

static int refuse_character(const struct map_parser *parser, char character, struct diag *diag) {
    unsigned char code = (unsigned char)character;
    if (code > 0x20 && code < 0x7f) {
        return diag_refuse(diag, WARMER_USAGE, "line %" PRIu64 ": unexpected character '%c'", parser->line,
                           character);
    }
    return diag_refuse(diag, WARMER_USAGE, "line %" PRIu64 ": unexpected byte 0x%02x", parser->line, code);
}

/** Everything that is neither a digit nor a newline. */
static int take_other(struct map_parser *parser, char character, struct diag *diag) {
    bool blank = character == ' ' || character == '\t';
    if (blank && parser->digits[0] > 0 && parser->digits[1] == 0) {
        parser->field = 1;
        return 0;
    }
    if (parser->digits[1] > 0 && blank) {
        return refuse(parser, diag, "text after the count");
    }
    return refuse_character(parser, character, diag);
}

int map_parser_feed(struct map_parser *parser, const char *text, size_t length, struct diag *diag) {
    for (size_t i = 0; i < length; i++) {
        i += take_digits(parser, text + i, length - i);
        if (i == length) {
            break;
        }
        unsigned digit = (unsigned)(unsigned char)text[i] - '0';
        int failure = digit < 10        ? take_digit(parser, digit, diag)
                      : text[i] == '\n' ? end_line(parser, diag)
                                        : take_other(parser, text[i], diag);
        if (failure != 0) {
            return failure;
        }
    }
    return 0;
}

int map_parser_finish(struct map_parser *parser, struct diag *diag) {
    return parser->digits[0] == 0 ? 0 : end_line(parser, diag);
}

/** Feed a whole stream; the name of the file goes before the line's number. */
static int parse_stream(struct map_parser *parser, FILE *stream, const char *name, struct diag *diag) {
    struct diag reason = {{0}};
    char *buffer = malloc(READ_BYTES);
    if (buffer == NULL) {
        return diag_refuse(diag, WARMER_CANNOT_OPEN, "%s: out of memory", name);
    }
    int failure = 0;
    size_t got = 0;
    while (failure == 0 && (got = fread(buffer, 1, READ_BYTES, stream)) > 0) {
        failure = map_parser_feed(parser, buffer, got, &reason);
    }
    free(buffer);
    if (failure == 0 && ferror(stream)) {
        return diag_refuse(diag, WARMER_CANNOT_OPEN, "cannot read %s: %s", name, strerror(errno));
    }
    if (failure == 0) {
        failure = map_parser_finish(parser, &reason);
    }
    return failure == 0 ? 0 : diag_refuse(diag, failure, "%s: %s", name, reason.text);
}

static int parse_file(struct map_parser *parser, const char *path, struct diag *diag) {
    if (strcmp(path, "-") == 0) {
        return parse_stream(parser, stdin, "standard input", diag);
    }
    FILE *stream = file_open(path);
    if (stream == NULL) {
        return diag_refuse(diag, WARMER_CANNOT_OPEN, "cannot open %s: %s", path, strerror(errno));
    }
    int failure = parse_stream(parser, stream, path, diag);
    fclose(stream);
    return failure;
}

/** Extents on their way into a set: those that touch go in together. */
struct gathered {
    struct block_set *set;
    struct extent extent;
};

static int gather(void *context, uint64_t start, uint64_t count) {
    struct gathered *gathered = context;
    struct extent *extent = &gathered->extent;
    if (start == extent->start + extent->count) {
        extent->count += count;
        return 0;
    }
    int failure = block_set_add(gathered->set, extent->start, extent->count);
    *extent = (struct extent){start, count};
    return failure;
}

static int add_to_list(void *context, uint64_t start, uint64_t count) {
    struct extents *list = context;
    return list->length < MAP_FIRST_EXTENTS ? extents_append(list, start, count) : 0;
}

int map_load(const char *path, struct block_set *set, struct diag *diag) {
    struct map_parser parser;
    struct gathered gathered = {.set = set};
    map_parser_init(&parser, block_set_capacity(set), MAP_ASCENDING, gather, &gathered);
    int failure = parse_file(&parser, path, diag);
    if (failure == 0 && block_set_add(set, gathered.extent.start, gathered.extent.count) != 0) {
        return diag_refuse(diag, WARMER_CANNOT_OPEN, "%s: out of memory", path);
    }
    return failure;
}

int map_load_first(const char *path, uint64_t device_blocks, struct extents *list, struct diag *diag) {
    struct map_parser parser;
    map_parser_init(&parser, device_blocks, MAP_ANY, add_to_list, list);
    int failure = parse_file(&parser, path, diag);
    if (failure == 0 && extents_keep_first(list) != 0) {
        return diag_refuse(diag, WARMER_CANNOT_OPEN, "%s: out of memory", path);
    }
    return failure;
}

#include "options.h"

#include "blocks.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum option_kind { TEXT, COUNT, DESCRIPTOR, NUMBER, POSITIVE, FLAG };

struct option_spec {
    const char *name;
    enum option_kind kind;
    size_t offset;
};

#define SPEC(name, kind, field) {name, kind, offsetof(struct options, field)}

static const struct option_spec SPECS[] = {
    SPEC("--mount", TEXT, mount_path),
    SPEC("--name", TEXT, file_name),
    SPEC("--backing", TEXT, backing_path),
    SPEC("--extents", TEXT, extents_path),
    SPEC("--size-bytes", COUNT, size_bytes),
    SPEC("--control-fd", DESCRIPTOR, control_fd),
    SPEC("--iops", POSITIVE, iops),
    SPEC("--throughput-mib-s", POSITIVE, throughput_mib_s),
    SPEC("--latency-mean-ms", NUMBER, latency.mean_ms),
    SPEC("--latency-sigma", NUMBER, latency.sigma),
    SPEC("--tail-probability", NUMBER, latency.tail_probability),
    SPEC("--tail-seconds", NUMBER, latency.tail_seconds),
    SPEC("--seed", COUNT, latency.seed),
    SPEC("--fetch-concurrency", COUNT, fetch_concurrency),
    SPEC("--neighbours", COUNT, neighbours),
    SPEC("--read-latency-ms", NUMBER, read_latency_ms),
    SPEC("--write-latency-ms", NUMBER, write_latency_ms),
    SPEC("--background-mib-s", NUMBER, background_mib_s),
    SPEC("--fetch-charged", FLAG, fetch_charged),
    SPEC("--touch-pages", FLAG, touch_pages),
    SPEC("--warm", FLAG, warm),
};

static const struct options DEFAULTS = {
    .file_name = "volume",
    .control_fd = -1,
    .iops = 3000,
    .throughput_mib_s = 125,
    .latency = {.mean_ms = 91, .sigma = 0.42, .seed = 1},
    .fetch_concurrency = 64,
    .neighbours = 10,
    .read_latency_ms = 0.53,
    .write_latency_ms = 0.2,
};

static bool parse_count(const char *text, uint64_t *value) {
    char *end;

    errno = 0;
    *value = strtoull(text, &end, 10);
    return errno == 0 && *text >= '0' && *text <= '9' && *end == '\0';
}

static bool parse_number(const char *text, double *value) {
    char *end;

    *value = strtod(text, &end);
    return *text && *end == '\0' && isfinite(*value) && *value >= 0;
}

static bool parse_descriptor(const char *text, int *value) {
    uint64_t count;

    if (!parse_count(text, &count) || count > 1U << 20)
        return false;
    *value = (int)count;
    return true;
}

static bool parse_value(struct options *options, const struct option_spec *spec, const char *text) {
    void *field = (char *)options + spec->offset;

    switch (spec->kind) {
    case TEXT:
        *(const char **)field = text;
        return *text != '\0';
    case COUNT:
        return parse_count(text, field);
    case DESCRIPTOR:
        return parse_descriptor(text, field);
    case NUMBER:
        return parse_number(text, field);
    case POSITIVE:
        return parse_number(text, field) && *(double *)field > 0;
    case FLAG:
        *(bool *)field = true;
        return true;
    }
    return false;
}

static const struct option_spec *find_spec(const char *name) {
    for (size_t i = 0; i < sizeof(SPECS) / sizeof(SPECS[0]); i++)
        if (strcmp(SPECS[i].name, name) == 0)
            return &SPECS[i];
    return NULL;
}

static const char *check(const struct options *options) {
    if (!options->mount_path || !options->backing_path)
        return "--mount and --backing are required";
    if (options->size_bytes == 0 || options->size_bytes % BLOCK_BYTES || options->size_bytes > INT64_MAX)
        return "--size-bytes must be a multiple of 524288";
    if (options->fetch_concurrency == 0)
        return "--fetch-concurrency must be at least 1";
    if (options->latency.tail_probability > 1)
        return "--tail-probability must be between 0 and 1";
    return NULL;
}

bool options_parse(struct options *options, int argc, char **argv) {
    const char *complaint;

    *options = DEFAULTS;
    for (int i = 1; i < argc; i++) {
        const struct option_spec *spec = find_spec(argv[i]);
        bool has_value = spec && spec->kind != FLAG;

        if (!spec || (has_value && i + 1 == argc)) {
            fprintf(stderr, "first-touch: %s %s\n", argv[i], spec ? "needs a value" : "is not an option");
            return false;
        }
        if (!parse_value(options, spec, has_value ? argv[i + 1] : "")) {
            fprintf(stderr, "first-touch: %s cannot be '%s'\n", argv[i], argv[i + 1]);
            return false;
        }
        i += has_value;
    }
    complaint = check(options);
    if (complaint)
        fprintf(stderr, "first-touch: %s\n", complaint);
    return !complaint;
}

/** The command line. Pure: text in, struct options or a reason out. */
#include "commands/options.h"

#include "engines/engine.h"
#include "loop/depth.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_SAMPLES 200u
#define MAX_SAMPLES 10000000u
#define DEFAULT_MAX_P99_MS 10.0

/** Which commands take an option. */
#define FOR_WARM (1u << COMMAND_WARM)
#define FOR_VERIFY (1u << COMMAND_VERIFY)

static const char *const command_names[] = {
    [COMMAND_WARM] = "warm", [COMMAND_VERIFY] = "verify",     [COMMAND_INSPECT] = "inspect",
    [COMMAND_HELP] = "help", [COMMAND_VERSION] = "--version", [COMMAND_EXTENTS] = "extents",
};

const char *options_command_name(enum command command) {
    return command_names[command];
}

/** Stores the value of one option; false if the value is not allowed. */
typedef bool option_store(struct options *options, const char *value);

/** Decimal digits only, at most `limit`. */
static bool parse_unsigned(const char *text, uint64_t limit, uint64_t *value) {
    *value = 0;
    if (*text == '\0') {
        return false;
    }
    for (; *text != '\0'; text++) {
        unsigned digit = (unsigned)(unsigned char)*text - '0';
        if (digit > 9 || *value > (limit - digit) / 10) {
            return false;
        }
        *value = *value * 10 + digit;
    }
    return true;
}

/** A positive decimal number such as 5 or 0.5. */
static bool parse_positive(const char *text, double *value) {
    if (strspn(text, "0123456789.") != strlen(text) || !isdigit((unsigned char)text[0])) {
        return false;
    }
    char *end = NULL;
    *value = strtod(text, &end);
    return *end == '\0' && *value > 0 && isfinite(*value);
}

static bool store_path(const char **target, const char *value) {
    *target = value;
    return *value != '\0';
}

static bool store_map(struct options *options, const char *value) {
    return store_path(&options->map_path, value);
}

static bool store_first(struct options *options, const char *value) {
    return store_path(&options->first_path, value);
}

static bool store_state(struct options *options, const char *value) {
    return store_path(&options->state_path, value);
}

static bool store_depth(struct options *options, const char *value) {
    uint64_t depth = 0;
    if (strcmp(value, "auto") == 0) {
        options->depth = 0;
        return true;
    }
    bool good = parse_unsigned(value, DEPTH_LIMIT, &depth) && depth > 0;
    options->depth = (unsigned)depth;
    return good;
}

static bool store_max_mib_s(struct options *options, const char *value) {
    return parse_positive(value, &options->max_mib_s);
}

static bool store_polite(struct options *options, const char *value) {
    return parse_positive(value, &options->polite_latency_ms);
}

static bool store_progress(struct options *options, const char *value) {
    static const char *const styles[] = {
        [PROGRESS_NONE] = "none", [PROGRESS_BAR] = "bar", [PROGRESS_JSON] = "json"};
    options->has_progress = true;
    for (unsigned style = 0; style < sizeof styles / sizeof styles[0]; style++) {
        if (strcmp(value, styles[style]) == 0) {
            options->progress = (enum progress_style)style;
            return true;
        }
    }
    return false;
}

static bool store_engine(struct options *options, const char *value) {
    options->engine = value;
    return strcmp(value, "auto") == 0 || engine_find(value) != NULL;
}

static bool store_scope(struct options *options, const char *value) {
    static const char *const scopes[] = {
        [SCOPE_WRITTEN] = "written", [SCOPE_USED] = "used", [SCOPE_WHOLE] = "whole"};
    for (unsigned scope = 0; scope < sizeof scopes / sizeof scopes[0]; scope++) {
        if (strcmp(value, scopes[scope]) == 0) {
            options->scope = (enum scope)scope;
            return true;
        }
    }
    return false;
}

static bool store_touch(struct options *options, const char *value) {
    (void)value;
    options->touch = true;
    return true;
}

static bool store_samples(struct options *options, const char *value) {
    uint64_t samples = 0;
    bool good = parse_unsigned(value, MAX_SAMPLES, &samples) && samples > 0;
    options->samples = (uint32_t)samples;
    return good;
}

static bool store_max_p99_ms(struct options *options, const char *value) {
    return parse_positive(value, &options->max_p99_ms);
}

static bool store_seed(struct options *options, const char *value) {
    options->has_seed = true;
    return parse_unsigned(value, UINT64_MAX, &options->seed);
}

/** One option: who takes it, what it allows (NULL: it is a flag), where it goes. */
struct option {
    const char *name;
    unsigned commands;
    const char *allowed;
    option_store *store;
};

static const struct option option_table[] = {
    {"--map", FOR_WARM | FOR_VERIFY, "a file or -", store_map},
    {"--first", FOR_WARM, "a file or -", store_first},
    {"--depth", FOR_WARM, "auto or 1 to 1024", store_depth},
    {"--max-mib-s", FOR_WARM, "a number above 0", store_max_mib_s},
    {"--polite-latency-ms", FOR_WARM, "a number above 0", store_polite},
    {"--state", FOR_WARM, "a file", store_state},
    {"--progress", FOR_WARM, "bar, json or none", store_progress},
    {"--engine", FOR_WARM, "auto or an engine that `warmer inspect` lists", store_engine},
    {"--scope", FOR_WARM, "written, used or whole", store_scope},
    {"--touch", FOR_WARM, NULL, store_touch},
    {"--samples", FOR_VERIFY, "1 to 10000000", store_samples},
    {"--max-p99-ms", FOR_VERIFY, "a number above 0", store_max_p99_ms},
    {"--seed", FOR_VERIFY, "0 to 18446744073709551615", store_seed},
};

/** The option whose name is the first `length` characters of `text`. */
static const struct option *find_option(const char *text, size_t length) {
    for (size_t i = 0; i < sizeof option_table / sizeof option_table[0]; i++) {
        if (strlen(option_table[i].name) == length && strncmp(option_table[i].name, text, length) == 0) {
            return &option_table[i];
        }
    }
    return NULL;
}

static int store_flag(const struct option *option, const char *value, struct options *options,
                      struct diag *diag) {
    option->store(options, "");
    return value == NULL ? 0 : diag_refuse(diag, WARMER_USAGE, "%s takes no value", option->name);
}

/** Parse `--name value` or `--name=value` at `*index`, which moves to the last argument used. */
static int parse_option(int count, char *const *arguments, int *index, struct options *options,
                        struct diag *diag) {
    const char *text = arguments[*index];
    const char *equals = strchr(text, '=');
    size_t length = equals == NULL ? strlen(text) : (size_t)(equals - text);
    const struct option *option = find_option(text, length);
    if (option == NULL) {
        return diag_refuse(diag, WARMER_USAGE, "unknown option %.*s", (int)length, text);
    }
    if ((option->commands & 1u << options->command) == 0) {
        return diag_refuse(diag, WARMER_USAGE, "%s is not an option of `warmer %s`", option->name,
                           options_command_name(options->command));
    }
    const char *value = equals != NULL ? equals + 1 : NULL;
    if (option->allowed == NULL) {
        return store_flag(option, value, options, diag);
    }
    if (value == NULL && *index + 1 < count) {
        value = arguments[++*index];
    }
    if (value == NULL) {
        return diag_refuse(diag, WARMER_USAGE, "%s needs a value: %s", option->name, option->allowed);
    }
    if (!option->store(options, value)) {
        return diag_refuse(diag, WARMER_USAGE, "%s %s: allowed is %s", option->name, value, option->allowed);
    }
    return 0;
}

static int parse_command(const char *word, struct options *options, struct diag *diag) {
    if (strcmp(word, "-h") == 0 || strcmp(word, "--help") == 0) {
        options->command = COMMAND_HELP;
        return 0;
    }
    for (unsigned i = 0; i < sizeof command_names / sizeof command_names[0]; i++) {
        if (strcmp(word, command_names[i]) == 0) {
            options->command = (enum command)i;
            return 0;
        }
    }
    return diag_refuse(diag, WARMER_USAGE,
                       "unknown command %s: allowed are warm, verify, inspect and extents", word);
}

/** `extents` has no options, so its files stand side by side. */
static int take_file(char *const *argument, struct options *options) {
    options->files = options->file_count == 0 ? argument : options->files;
    options->file_count++;
    return 0;
}

static int take_device(const char *path, struct options *options, struct diag *diag) {
    if (options->device != NULL) {
        return diag_refuse(diag, WARMER_USAGE, "one device at a time: %s and %s were given", options->device,
                           path);
    }
    if (*path == '\0') {
        return diag_refuse(diag, WARMER_USAGE, "the device's name is empty");
    }
    options->device = path;
    return 0;
}

/** What no single option can know. */
static int check_together(const struct options *options, struct diag *diag) {
    if (options->command == COMMAND_EXTENTS) {
        return options->file_count > 0
                   ? 0
                   : diag_refuse(diag, WARMER_USAGE, "which files? `warmer extents FILE...`");
    }
    if (options->device == NULL) {
        return diag_refuse(diag, WARMER_USAGE, "which device? `warmer %s DEVICE`",
                           options_command_name(options->command));
    }
    if (options->map_path != NULL && options->first_path != NULL && strcmp(options->map_path, "-") == 0 &&
        strcmp(options->first_path, "-") == 0) {
        return diag_refuse(diag, WARMER_USAGE, "--map and --first cannot both be standard input");
    }
    if (options->scope == SCOPE_WHOLE && options->map_path != NULL) {
        return diag_refuse(diag, WARMER_USAGE, "--scope whole takes no --map: it reads every block");
    }
    return 0;
}

int options_parse(int count, char *const *arguments, struct options *options, struct diag *diag) {
    *options = (struct options){.engine = "auto",
                                .samples = DEFAULT_SAMPLES,
                                .max_p99_ms = DEFAULT_MAX_P99_MS,
                                .command = COMMAND_HELP};
    if (count < 2) {
        return diag_refuse(diag, WARMER_USAGE, "no command: try warmer --help");
    }
    int failure = parse_command(arguments[1], options, diag);
    if (failure != 0 || options->command == COMMAND_HELP || options->command == COMMAND_VERSION) {
        return failure;
    }
    for (int i = 2; i < count && failure == 0; i++) {
        if (strcmp(arguments[i], "--help") == 0 || strcmp(arguments[i], "-h") == 0) {
            options->command = COMMAND_HELP;
            return 0;
        }
        bool is_option = arguments[i][0] == '-';
        bool is_file = !is_option && options->command == COMMAND_EXTENTS;
        failure = is_option ? parse_option(count, arguments, &i, options, diag)
                  : is_file ? take_file(&arguments[i], options)
                            : take_device(arguments[i], options, diag);
    }
    return failure != 0 ? failure : check_together(options, diag);
}

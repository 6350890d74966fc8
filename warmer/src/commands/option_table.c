/** The options: their names, who takes them, and where their values go. */
#include "commands/option_table.h"

#include "base/number.h"
#include "device/mount_point.h"
#include "engines/engine.h"
#include "loop/depth.h"
#include "mount/mount_options.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_SAMPLES 10000000u
#define MAX_LIMIT_SECONDS 172800u
#define MAX_OBSERVE_SECONDS 21600u
#define MAX_ADDRESS 4000u
#define MAX_OUTPUT 1000u
#define MAX_ATTEMPT 80u
#define ATTEMPT_LETTERS "abcdefghijklmnopqrstuvwxyz0123456789-"

/** Which commands take an option. */
#define FOR_WARM (1u << COMMAND_WARM)
#define FOR_VERIFY (1u << COMMAND_VERIFY)
#define FOR_RUN (1u << COMMAND_RUN)
#define FOR_DEVICE_USE (1u << COMMAND_DEVICE_USE)
#define FOR_BENCH (1u << COMMAND_BENCH)
#define FOR_APPLY (1u << COMMAND_APPLY)
#define FOR_OBSERVE (1u << COMMAND_OBSERVE)
#define FOR_MOUNT (1u << COMMAND_MOUNT)
#define FOR_UNMOUNT (1u << COMMAND_UNMOUNT)

/** Decimal digits only, at most `limit`. */
static bool parse_unsigned(const char *text, uint64_t limit, uint64_t *value) {
    const char *end = number_take(text, limit, value);
    return end != NULL && *end == '\0';
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

static bool store_first_unlimited(struct options *options, const char *value) {
    (void)value;
    options->first_unlimited = true;
    return true;
}

static bool store_first_most(struct options *options, const char *value) {
    return parse_unsigned(value, UINT64_MAX, &options->first_most);
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

/** auto, none, or names with commas between, each once. */
static bool store_order(struct options *options, const char *value) {
    static const enum order_source sources[] = {ORDER_STRUCTURES, ORDER_LISTS, ORDER_LOGS, ORDER_RECENT};
    options->order = ORDER_NONE;
    if (strcmp(value, "auto") == 0 || strcmp(value, "none") == 0) {
        options->order = value[0] == 'a' ? ORDER_AUTO : ORDER_NONE;
        return true;
    }
    for (const char *at = value;; at++) {
        size_t length = strcspn(at, ",");
        unsigned before = options->order;
        for (size_t i = 0; i < sizeof sources / sizeof sources[0]; i++) {
            const char *name = order_source_name(sources[i]);
            if (strlen(name) == length && memcmp(name, at, length) == 0) {
                options->order |= sources[i];
            }
        }
        at += length;
        if (options->order == before || *at == '\0') {
            return options->order != before;
        }
    }
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

static bool store_action(struct options *options, const char *value) {
    static const char *const actions[] = {[ACTION_WARM] = "warm",     [ACTION_VERIFY] = "verify",
                                          [ACTION_APPLY] = "apply",   [ACTION_OBSERVE] = "observe",
                                          [ACTION_CHECK] = "check",   [ACTION_UNMOUNT] = "unmount",
                                          [ACTION_ONLINE] = "online", [ACTION_BOOT] = "boot"};
    bool is_use = options->command == COMMAND_DEVICE_USE;
    unsigned first = is_use ? ACTION_CHECK : ACTION_WARM;
    unsigned last = is_use ? ACTION_BOOT : ACTION_OBSERVE;
    for (unsigned action = first; action <= last; action++) {
        if (strcmp(value, actions[action]) == 0) {
            options->action = (enum action)action;
            return true;
        }
    }
    return false;
}

/** Empty: none, because a document of Systems Manager names every option. */
static bool store_mount(struct options *options, const char *value) {
    options->mount = *value == '\0' ? NULL : value;
    return *value == '\0' || mount_point_is_valid(value);
}

/** A folder for `mount`. Empty: none, because a document of Systems Manager names every option. */
static bool store_folder_path(struct options *options, const char *value) {
    options->path = *value == '\0' ? NULL : value;
    return *value == '\0' || *value == '/';
}

static bool store_mount_options(struct options *options, const char *value) {
    char refused[MOUNT_OPTION_BYTES];
    options->mount_options = value;
    return mount_options_allow(value, MOUNT_ANY, refused);
}

/** vol- and 17 hexadecimal digits, or eight of an old volume. */
static bool store_volume(struct options *options, const char *value) {
    size_t digits = strncmp(value, "vol-", 4) == 0 ? strspn(value + 4, "0123456789abcdef") : 0;
    options->volume = value;
    return (digits == 17 || digits == 8) && value[4 + digits] == '\0';
}

static bool store_home(struct options *options, const char *value) {
    return store_path(&options->home, value);
}

/** A part of a file's name. Empty: none, because a document of Systems Manager names every option. */
static bool store_attempt(struct options *options, const char *value) {
    size_t length = strlen(value);
    options->attempt = length == 0 ? NULL : value;
    return length <= MAX_ATTEMPT && strspn(value, ATTEMPT_LETTERS) == length;
}

static bool store_arguments(struct options *options, const char *value) {
    options->arguments = value;
    return true;
}

static bool store_cold_arguments(struct options *options, const char *value) {
    options->cold_arguments = value;
    return true;
}

static bool store_targets(struct options *options, const char *value) {
    return store_path(&options->targets, value);
}

static bool store_jobs(struct options *options, const char *value) {
    return store_path(&options->jobs, value);
}

static bool store_limit_seconds(struct options *options, const char *value) {
    uint64_t seconds = 0;
    bool good = parse_unsigned(value, MAX_LIMIT_SECONDS, &seconds) && seconds > 0;
    options->limit_seconds = (unsigned)seconds;
    return good;
}

static bool store_manifest(struct options *options, const char *value) {
    return store_path(&options->manifest, value) && strlen(value) < MAX_ADDRESS;
}

static bool store_wait_seconds(struct options *options, const char *value) {
    uint64_t seconds = 0;
    bool good = parse_unsigned(value, MAX_LIMIT_SECONDS, &seconds) && seconds > 0;
    options->wait_seconds = (unsigned)seconds;
    return good;
}

static bool store_patience_seconds(struct options *options, const char *value) {
    uint64_t seconds = 0;
    bool good = parse_unsigned(value, MAX_LIMIT_SECONDS, &seconds) && seconds > 0;
    options->patience_seconds = (unsigned)seconds;
    return good;
}

static bool store_seconds(struct options *options, const char *value) {
    uint64_t seconds = 0;
    bool good = parse_unsigned(value, MAX_OBSERVE_SECONDS, &seconds) && seconds > 0;
    options->seconds = (unsigned)seconds;
    return good;
}

static bool store_most_blocks(struct options *options, const char *value) {
    uint64_t blocks = 0;
    bool good = parse_unsigned(value, RECORDING_BLOCKS, &blocks) && blocks > 0;
    options->most_blocks = (uint32_t)blocks;
    return good;
}

static bool store_output(struct options *options, const char *value) {
    return store_path(&options->output, value) && strlen(value) < MAX_OUTPUT;
}

static bool store_source(struct options *options, const char *value) {
    static const char *const sources[] = {
        [SOURCE_AUTO] = "auto", [SOURCE_HISTOGRAM] = "histogram", [SOURCE_EVENTS] = "events"};
    for (unsigned source = 0; source < sizeof sources / sizeof sources[0]; source++) {
        if (strcmp(value, sources[source]) == 0) {
            options->source = (enum source_kind)source;
            return true;
        }
    }
    return false;
}

static bool store_since(struct options *options, const char *value) {
    return writes_parse(value, &options->since);
}

static bool store_compare(struct options *options, const char *value) {
    (void)value;
    options->compares = true;
    return true;
}

static bool store_image(struct options *options, const char *value) {
    (void)value;
    options->is_image = true;
    return true;
}

static bool store_install_fio(struct options *options, const char *value) {
    options->install_fio = strcmp(value, "yes") == 0;
    return options->install_fio || strcmp(value, "no") == 0;
}

static bool store_file(struct options *options, const char *value) {
    return store_path(&options->file, value);
}

static bool store_folder(struct options *options, const char *value) {
    return store_path(&options->folder, value);
}

static const struct option option_table[] = {
    {"--map", FOR_WARM | FOR_VERIFY | FOR_OBSERVE, "a file or -", store_map},
    {"--first", FOR_WARM, "a file or -", store_first},
    {"--first-unlimited", FOR_WARM, NULL, store_first_unlimited},
    {"--first-most", FOR_WARM, "0 to 18446744073709551615", store_first_most},
    {"--depth", FOR_WARM, "auto or 1 to 1024", store_depth},
    {"--max-mib-s", FOR_WARM | FOR_APPLY, "a number above 0", store_max_mib_s},
    {"--polite-latency-ms", FOR_WARM | FOR_APPLY, "a number above 0", store_polite},
    {"--state", FOR_WARM | FOR_APPLY | FOR_OBSERVE, "a file", store_state},
    {"--progress", FOR_WARM | FOR_APPLY | FOR_OBSERVE, "bar, json or none", store_progress},
    {"--engine", FOR_WARM | FOR_APPLY, "auto or an engine that `warmer inspect` lists", store_engine},
    {"--scope", FOR_WARM, "written, used or whole", store_scope},
    {"--order", FOR_WARM, "auto, none or some of structures,lists,logs,recent", store_order},
    {"--touch", FOR_WARM, NULL, store_touch},
    {"--samples", FOR_VERIFY, "1 to 10000000", store_samples},
    {"--max-p99-ms", FOR_VERIFY, "a number above 0", store_max_p99_ms},
    {"--seed", FOR_VERIFY, "0 to 18446744073709551615", store_seed},
    {"--action", FOR_RUN | FOR_DEVICE_USE,
     "warm, verify, apply or observe, or of device-use check, unmount or online", store_action},
    {"--volume",
     FOR_RUN | FOR_DEVICE_USE | FOR_APPLY | FOR_OBSERVE | FOR_WARM | FOR_VERIFY | FOR_MOUNT | FOR_UNMOUNT,
     "vol- and 17 or 8 hexadecimal digits", store_volume},
    {"--path", FOR_MOUNT, "a folder", store_folder_path},
    {"--options", FOR_MOUNT, "some of " MOUNT_OPTIONS_TEXT, store_mount_options},
    {"--seconds", FOR_OBSERVE, "1 to 21600", store_seconds},
    {"--most-blocks", FOR_OBSERVE, "1 to 131072", store_most_blocks},
    {"--output", FOR_OBSERVE, "a file or -", store_output},
    {"--source", FOR_OBSERVE, "auto, histogram or events", store_source},
    {"--manifest", FOR_APPLY, "a path or an address", store_manifest},
    {"--wait-seconds", FOR_APPLY, "1 to 172800", store_wait_seconds},
    {"--patience-seconds", FOR_APPLY | FOR_RUN, "1 to 172800", store_patience_seconds},
    {"--since", FOR_APPLY, "BOOTID,SECTORS,REQUESTS,SEQUENCE of an earlier result", store_since},
    {"--compare", FOR_APPLY, NULL, store_compare},
    {"--image", FOR_APPLY, NULL, store_image},
    {"--mount", FOR_DEVICE_USE, "a drive letter, or a folder on one: E: or E:\\data", store_mount},
    {"--home", FOR_RUN | FOR_BENCH, "a folder", store_home},
    {"--targets", FOR_BENCH, "folders and volumes", store_targets},
    {"--jobs", FOR_BENCH, "patterns of fio", store_jobs},
    {"--limit-seconds", FOR_BENCH, "1 to 172800", store_limit_seconds},
    {"--install-fio", FOR_BENCH, "yes or no", store_install_fio},
    {"--file", FOR_BENCH, "a file", store_file},
    {"--folder", FOR_BENCH, "a folder", store_folder},
    {"--attempt", FOR_RUN, "at most 80 of a-z, 0-9 and -", store_attempt},
    {"--arguments", FOR_RUN, "further options", store_arguments},
    {"--cold-arguments", FOR_RUN, "options of `warmer verify`", store_cold_arguments},
};

const struct option *option_find(const char *text, size_t length) {
    for (size_t i = 0; i < sizeof option_table / sizeof option_table[0]; i++) {
        if (strlen(option_table[i].name) == length && strncmp(option_table[i].name, text, length) == 0) {
            return &option_table[i];
        }
    }
    return NULL;
}

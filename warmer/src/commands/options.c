/** The command line. Pure: text in, struct options or a reason out. */
#include "commands/options.h"

#include "base/patience.h"
#include "commands/option_table.h"

#include <string.h>

#define DEFAULT_SAMPLES 200u
#define DEFAULT_MAX_P99_MS 10.0
#define DEFAULT_LIMIT_SECONDS 3600u
#define DEFAULT_OBSERVE_SECONDS 1800u

static const char *const command_names[] = {
    [COMMAND_WARM] = "warm",       [COMMAND_VERIFY] = "verify",         [COMMAND_INSPECT] = "inspect",
    [COMMAND_HELP] = "help",       [COMMAND_VERSION] = "--version",     [COMMAND_EXTENTS] = "extents",
    [COMMAND_RUN] = "run",         [COMMAND_DEVICE_USE] = "device-use", [COMMAND_BENCH] = "bench",
    [COMMAND_APPLY] = "apply",     [COMMAND_OBSERVE] = "observe",       [COMMAND_MOUNT] = "mount",
    [COMMAND_UNMOUNT] = "unmount",
};

const char *options_command_name(enum command command) {
    return command_names[command];
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
    const struct option *option = option_find(text, length);
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
                       "unknown command %s: allowed are warm, verify, inspect, apply, extents, observe, run, "
                       "device-use, bench, mount and unmount",
                       word);
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

/** What a document of Systems Manager starts names everything. */
static int check_unattended(const struct options *options, struct diag *diag) {
    const char *missing = options->action == ACTION_NONE                                ? "--action"
                          : options->volume == NULL                                     ? "--volume"
                          : options->action == ACTION_APPLY && options->attempt == NULL ? "--attempt"
                                                                                        : NULL;
    if (missing == NULL && options->mount != NULL && options->action != ACTION_ONLINE) {
        return diag_refuse(diag, WARMER_USAGE, "--mount only goes with --action=online");
    }
    if (missing == NULL) {
        return 0;
    }
    return diag_refuse(diag, WARMER_USAGE, "`warmer %s` needs %s", options_command_name(options->command),
                       missing);
}

static int check_bench(const struct options *options, struct diag *diag) {
    bool is_fio = options->targets != NULL && options->jobs != NULL;
    bool is_copy = options->file != NULL && options->folder != NULL;
    if (is_fio != is_copy) {
        return 0;
    }
    return diag_refuse(diag, WARMER_USAGE,
                       "`warmer bench` needs --targets and --jobs, or --file and --folder");
}

/** What writes names its volume and where to go on after a kill. */
static int check_apply(const struct options *options, struct diag *diag) {
    const char *missing = options->volume == NULL       ? "--volume"
                          : options->state_path == NULL ? "--state"
                                                        : NULL;
    return missing == NULL ? 0 : diag_refuse(diag, WARMER_USAGE, "`warmer apply` needs %s", missing);
}

/** By its volume alone: a path could lead to another disk by the time of the mount. */
static int check_mount(const struct options *options, struct diag *diag) {
    if (options->device != NULL) {
        return diag_refuse(diag, WARMER_USAGE, "`warmer %s` finds the device by --volume, and takes no %s",
                           options_command_name(options->command), options->device);
    }
    return options->volume != NULL ? 0
                                   : diag_refuse(diag, WARMER_USAGE, "`warmer %s` needs --volume",
                                                 options_command_name(options->command));
}

/** What no single option can know. */
static int check_together(const struct options *options, struct diag *diag) {
    if (options->command == COMMAND_EXTENTS) {
        return options->file_count > 0
                   ? 0
                   : diag_refuse(diag, WARMER_USAGE, "which files? `warmer extents FILE...`");
    }
    if (options->command == COMMAND_RUN || options->command == COMMAND_DEVICE_USE) {
        return check_unattended(options, diag);
    }
    if (options->command == COMMAND_BENCH) {
        return check_bench(options, diag);
    }
    if (options->command == COMMAND_MOUNT || options->command == COMMAND_UNMOUNT) {
        return check_mount(options, diag);
    }
    if (options->device == NULL) {
        return diag_refuse(diag, WARMER_USAGE, "which device? `warmer %s DEVICE`",
                           options_command_name(options->command));
    }
    if (options->command == COMMAND_APPLY) {
        return check_apply(options, diag);
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
                                .first_most = UINT64_MAX,
                                .order = ORDER_AUTO,
                                .samples = DEFAULT_SAMPLES,
                                .max_p99_ms = DEFAULT_MAX_P99_MS,
                                .home = ".",
                                .arguments = "",
                                .limit_seconds = DEFAULT_LIMIT_SECONDS,
                                .cold_arguments = "",
                                .mount_options = "",
                                .patience_seconds = PATIENCE_SECONDS,
                                .seconds = DEFAULT_OBSERVE_SECONDS,
                                .most_blocks = RECORDING_BLOCKS,
                                .output = "-",
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

#ifndef WARMER_OPTIONS_H
#define WARMER_OPTIONS_H

#include "base/diag.h"
#include "commands/progress.h"
#include "plan/scope.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** What to do. */
enum command {
    COMMAND_WARM,
    COMMAND_VERIFY,
    COMMAND_INSPECT,
    COMMAND_EXTENTS,
    COMMAND_HELP,
    COMMAND_VERSION
};

/** The command line, checked. Strings are the caller's. */
struct options {
    enum command command;
    const char *device;
    const char *map_path;   /**< NULL: the whole device; "-": standard input. */
    const char *first_path; /**< NULL: nothing before the rest. */
    const char *state_path; /**< NULL: nothing is remembered. */
    char *const *files;     /**< Of `extents`. */
    size_t file_count;
    const char *engine;
    enum scope scope;
    bool touch;               /**< Read one page of each block where that is enough. */
    unsigned depth;           /**< 0: auto. */
    double max_mib_s;         /**< 0: no limit. */
    double polite_latency_ms; /**< 0: nobody to be polite to. */
    bool has_progress;        /**< Was --progress given? */
    enum progress_style progress;
    uint32_t samples;
    double max_p99_ms;
    bool has_seed;
    uint64_t seed;
};

/** Parse the command line; 0 or WARMER_USAGE with the reason. Reads and opens nothing. */
int options_parse(int count, char *const *arguments, struct options *options, struct diag *diag);

/** The command's name as typed. */
const char *options_command_name(enum command command);

/** What --help prints. */
const char *options_help(void);

#endif
